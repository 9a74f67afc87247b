"""Names of phi in scales, studies and runs: each must be one that can be computed."""

from __future__ import annotations

from fivesentences.choices import repeat_in
from fivesentences.errors import InputError, did_you_mean
from fivesentences.semantics.registry import SEMANTIC_METRICS, check_whole, parse_name, plain_name


def mistake_in(phi: str, *, whole: bool = True) -> str | None:
    """Say what is wrong with the name of a phi, or of a mean of several, behind "is 'cidre'"; None if nothing.

    Args:
        phi: Such as ``cider``, ``bleu4-ptb`` or ``tfidf+bleu_daa``.
        whole: Whether a whole matrix of it is needed, which METEOR has not.
    """
    parts = phi.split("+")
    if twice := repeat_in(parts):
        return f"which holds '{parts[twice[0]]}' twice; name each phi of a mean once"
    for part in parts:
        name, _, tokenisation = part.partition("-")
        name = name.partition(":")[0]
        if name not in SEMANTIC_METRICS:  # files are called by it, so that case counts
            hint = did_you_mean(name, SEMANTIC_METRICS) or f"there are: {', '.join(sorted(SEMANTIC_METRICS))}"
            return f"but there is no phi '{name}'; {hint}"
        if part != plain_name(part):
            return f"but its name is '{plain_name(part)}'"
        try:
            parse_name(part)
        except InputError as error:
            return f"but {str(error).removesuffix('.')}" if tokenisation else str(error)
        if whole:
            try:
                check_whole(part)
            except InputError:
                return f"but {name} takes over a millisecond per pair, so there is no matrix of it; name another phi"
    return None


def check_phi(phi: str, where: str, *, whole: bool = True) -> None:
    """Check the name of a phi; see ``mistake_in``.

    Raises:
        ValueError: "``where`` is 'cidre', but there is no phi 'cidre'; did you mean 'cider'?"
    """
    if (mistake := mistake_in(phi, whole=whole)) is not None:
        raise ValueError(f"{where} is '{phi}', {mistake}")
