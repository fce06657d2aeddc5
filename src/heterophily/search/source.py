"""A method as a Python file, with only what differs from the defaults."""

from pathlib import Path

from heterophily.core.files import write_atomically
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.identity import Imports, changed_fields, expression
from heterophily.htmp.method import CustomMethod


def write_method(method: CustomMethod, path: Path, *, description: str) -> Path:
    """Write a method as a file that can be used wherever a model is expected."""
    text = method_source(method, description=description)
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def method_source(method: CustomMethod, *, description: str) -> str:
    r"""Return the source of a file that defines a method.

    Examples
    --------
    >>> from heterophily.htmp.guidance import RowMean
    >>> from heterophily.htmp.neighborhoods import Raw
    >>> mean = CustomMethod("mean", Architecture(channels=(Raw() * RowMean(),)), width=32)
    >>> print(method_source(mean, description="The mean.").split("ecture\n")[-1])
    from heterophily.htmp.guidance import RowMean
    from heterophily.htmp.method import CustomMethod
    from heterophily.htmp.neighborhoods import Raw
    <BLANKLINE>
    METHOD = CustomMethod(
        "mean",
        Architecture(
            channels=(Raw() * RowMean(),),
        ),
        width=32,
    )
    <BLANKLINE>
    """
    imports: Imports = {CustomMethod.__module__: {"CustomMethod"}, Architecture.__module__: {"Architecture"}}
    settings = {k: v for k, v in changed_fields(method).items() if k not in ("name", "template")}
    fields = _arguments(changed_fields(method.template), imports)
    architecture = "".join(f"        {line}\n" for line in fields)
    lines = [
        f"    {expression(method.name)},\n",
        f"    Architecture(\n{architecture}    ),\n",
        *(f"    {line}\n" for line in _arguments(settings, imports)),
    ]
    head = [f"from {module} import {', '.join(sorted(imports[module]))}" for module in sorted(imports)]
    return "\n".join([f'"""{description}"""', "", *head, "", f"METHOD = CustomMethod(\n{''.join(lines)})\n"])


def _arguments(fields: dict[str, object], imports: Imports) -> list[str]:
    return [f"{name}={expression(value, imports)}," for name, value in fields.items()]
