"""`./desk verify_audit`: whether the log is what was sealed, and if not, which line is not."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from mcpdesk.accounts.models import Team
from mcpdesk.audit.anchors import anchor_in
from mcpdesk.audit.canonical import moment
from mcpdesk.audit.findings import Finding
from mcpdesk.audit.verifying import BEGIN, Place, Step, anchor_fault, steps

#: Exit statuses; 2 is Django's own for arguments that are wrong.
WHOLE, NOT_WHOLE = 0, 1
#: The first findings of a team are printed, the others counted.
SHOWN = 20
PROGRESS_EVERY_S = 2.0


class Command(BaseCommand):
    help = (
        "Verify the log: every seal and every sealed event. Exits with 0 when all is whole, with 1 "
        "when something is not (named on standard output), with 2 when it could not be verified."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", metavar="SLUG", help="one team only")
        parser.add_argument(
            "--anchor",
            metavar="FILE",
            type=Path,
            help="seals that were exported before (/audit/seals/): the log must still hold them",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object for each team")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            teams = _teams(options["team"])
            results = [self._verify(team, options) for team in teams]
        except OperationalError as error:
            raise CommandError(
                "The database does not answer. Start the desk first, or set DATABASE_URL.",
                returncode=2,
            ) from error
        sys.exit(WHOLE if all(results) else NOT_WHOLE)

    def _verify(self, team: Team, options: dict[str, Any]) -> bool:
        place, findings, found = BEGIN, list(_anchored(team, options["anchor"])), 0
        found = len(findings)
        progress = Progress(team, self)
        for step in steps(team.pk):
            place, found = step.place, found + step.found
            findings += step.findings[: SHOWN - len(findings)]
            progress.show(step)
        say = self._say_json if options["json"] else self._say
        say(team, place, findings, found)
        return found == 0

    def _say(self, team: Team, place: Place, findings: list[Finding], found: int) -> None:
        for finding in findings:
            self.stdout.write(f"{team.slug}: {finding}")
        if found > len(findings):
            self.stdout.write(f"{team.slug}: and {found - len(findings)} more")
        if found:
            return
        if place.sealed_at is None:
            self.stdout.write(f"{team.slug}: nothing is sealed yet")
            return
        pruned = f", {place.pruned} seals whose events were pruned" if place.pruned else ""
        self.stdout.write(
            f"{team.slug}: sealed and verified up to {moment(place.sealed_at)}: "
            f"{place.number} seals, {place.events} events{pruned}"
        )

    def _say_json(self, team: Team, place: Place, findings: list[Finding], found: int) -> None:
        result = {
            "team": team.slug,
            "whole": found == 0,
            "seals": place.number,
            "events": place.events,
            "pruned_seals": place.pruned,
            "verified_to": moment(place.sealed_at) if place.sealed_at else None,
            "found": found,
            "findings": [finding.values() for finding in findings],
        }
        self.stdout.write(json.dumps(result))


class Progress:
    """A line on standard error now and then, so that one sees it go on."""

    def __init__(self, team: Team, command: BaseCommand) -> None:
        last = team.seals.order_by("-number").first()
        self._seals = last.number if last else 0
        self._team, self._command = team, command
        self._began = self._shown = time.monotonic()

    def show(self, step: Step) -> None:
        now = time.monotonic()
        if now - self._shown < PROGRESS_EVERY_S or step.is_last:
            return
        self._shown = now
        share = step.place.number / max(self._seals, step.place.number)
        left = (now - self._began) * (1 - share) / share
        self._command.stderr.write(
            f"{self._team.slug}: {share:.0%}, {step.place.events:,} events, {left:.0f} s left"
        )


def _teams(slug: str | None) -> list[Team]:
    teams = Team.objects.order_by("slug")
    if slug is None:
        return list(teams)
    found = list(teams.filter(slug=slug))
    if not found:
        there = ", ".join(team.slug for team in teams)
        raise CommandError(f"There is no team {slug}. There are: {there}.", returncode=2)
    return found


def _anchored(team: Team, path: Path | None) -> list[Finding]:
    """What is wrong with the seals that somebody kept of this team's log."""
    if path is None:
        return []
    try:
        anchor = anchor_in(path.open("rb"), team.pk)
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} is no export of seals: {error}", returncode=2) from error
    fault = None if anchor is None else anchor_fault(team.pk, anchor)
    return [fault] if fault else []
