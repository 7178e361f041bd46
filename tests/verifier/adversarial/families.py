"""All families of false rules, as one rule file."""

import conditions
import names
import thresholds

FAMILIES = [*thresholds.FAMILIES, *names.FAMILIES, *conditions.FAMILIES]


def false_rules(every=1):
    """The rules by name: every `every`-th of each family, beginning with the first, without repeated texts."""
    rules, seen = {}, set()
    for family in FAMILIES:
        for number, rule in enumerate(family()):
            if number % every == 0 and rule.text not in seen:
                seen.add(rule.text)
                rules[f"{family.__module__}-{family.__name__}-{number}".replace("_", "-")] = rule
    return rules


def rule_file(rules):
    texts = (f"# {rule.why}\ncandidate {name}\n{rule.text}\n" for name, rule in rules.items())
    return "taso rules 1\n\n" + "\n".join(texts)
