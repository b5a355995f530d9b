"""The tools of the demo: what a small company might let an assistant do."""

from mcpdesk.simulator.protocol import Json, text_block, text_result
from mcpdesk.simulator.scripts import Ask, Script, Story, Tool, Work
from mcpdesk.simulator.tools.parts import (
    choice_field,
    flag_field,
    form,
    form_of,
    image_block,
    integer_field,
    link,
    png,
    text_field,
)

READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}
DESTRUCTIVE = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}
WRITING = {"readOnlyHint": False, "destructiveHint": False}

REGION = choice_field(
    "eu-central", "eu-north", "us-east", title="Region", **{"x-mcp-header": "Region"}
)


def _record(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _structured(text: str, structured: Json, *more: Json) -> Json:
    content = [text_block(text), *more]
    return {"resultType": "complete", "content": content, "structuredContent": structured}


def _deploy(arguments: Json) -> Script:
    project, target = arguments["project"], arguments["environment"]
    question = form_of(
        f"Release {project} to {target}? Traffic moves over at once.",
        {
            "type": "object",
            "properties": {
                "release": flag_field(title="Release it", default=False),
                "note": text_field(title="Note for the log", maxLength=200),
            },
            "required": ["release"],
        },
    )
    steps = (
        Work(3000, f"Building the image of {project}"),
        Work(4000, "Running 214 checks"),
        Ask({"release": question}, message="Checks passed, waiting for the release decision"),
        Work(4000, f"Rolling out to {target}"),
    )
    return Script(task=steps, finish=_deployed, poll_ms=1000)


def _deployed(story: Story) -> Json:
    project, target = story.arguments["project"], story.arguments["environment"]
    if not story.content("release").get("release"):
        return text_result(f"{project} was built and checked, but not released.")
    url = f"https://{project}.{target}.example.com/"
    return _structured(f"{project} is live on {target}.", {"released": True, "url": url})


def _purge(arguments: Json) -> Script:
    name = arguments["partition"]
    question = form(
        f"This deletes every row of {name}. Type its name to confirm.",
        partition=text_field(title="Partition name"),
    )
    return Script(rounds=(Ask({"confirm-partition": question}),), finish=_purged)


def _purged(story: Story) -> Json:
    name, typed = story.arguments["partition"], story.content("confirm-partition")["partition"]
    if typed != name:
        return text_result(f"{typed!r} is not {name!r}: nothing was deleted.", is_error=True)
    return text_result(f"Partition {name} was purged: 48,213 rows.")


def _refund(arguments: Json) -> Script:
    reasons = [
        {"const": "damaged", "title": "Arrived damaged"},
        {"const": "late", "title": "Arrived too late"},
        {"const": "goodwill", "title": "Goodwill"},
    ]
    question = form(
        f"Refund for order {arguments['order']}: please decide the details.",
        amount={"type": "number", "title": "Amount in EUR", "minimum": 0, "maximum": 500},
        reason={"type": "string", "title": "Reason", "oneOf": reasons},
        notify=flag_field(title="Tell the customer", default=True),
        message=text_field(title="Message to the customer", maxLength=500),
    )
    steps = (Work(2000, "Looking up the order"), Ask({"refund": question}), Work(2000, "Booking"))
    return Script(task=steps, finish=_refunded, poll_ms=1000)


def _refunded(story: Story) -> Json:
    details = story.content("refund")
    text = f"Refunded {details['amount']} EUR for order {story.arguments['order']}."
    return _structured(text, {"order": story.arguments["order"], **details})


def _window(arguments: Json) -> Script:
    question = form(
        "Which maintenance window, and which services may be down in it?",
        window=choice_field("Saturday 02:00", "Sunday 02:00", "Tuesday 04:00", title="Window"),
        services={
            "type": "array",
            "title": "Services",
            "items": choice_field("api", "billing", "search", "mail"),
            "minItems": 1,
            "maxItems": 3,
        },
    )
    steps = (Work(1500, "Reading the calendar"), Ask({"window": question}), Work(2000, "Booking"))
    return Script(task=steps, finish=_booked, poll_ms=1000)


def _booked(story: Story) -> Json:
    chosen = story.content("window")
    return _structured(f"Booked {chosen['window']} for {', '.join(chosen['services'])}.", chosen)


def _connect(arguments: Json) -> Script:
    url = f"https://git.example.com/oauth/authorize?client=reports&repo={arguments['repository']}"
    question = link("Allow read access to the repository on the provider's own page.", url)
    return Script(
        rounds=(Ask({"authorize": question}),),
        finish=lambda story: text_result(f"Connected {story.arguments['repository']}."),
    )


def _report(arguments: Json) -> Script:
    steps = tuple(
        Work(4000, f"Reading {month}: {percent} % done")
        for month, percent in (("July", 0), ("August", 20), ("September", 40), ("October", 60))
    )
    return Script(task=(*steps, Work(5000, "Drawing: 80 % done")), finish=_reported, poll_ms=1500)


def _reported(story: Story) -> Json:
    region, figures = story.arguments["region"], {"orders": 18_204, "revenue_eur": 1_377_920.5}
    chart = image_block(png(320, 120, b"\x2f\x6f\xed"))
    return _structured(f"Report for {region}: 18,204 orders.", {"region": region, **figures}, chart)


def _rotate(arguments: Json) -> Script:
    error = text_result("The certificate authority refused: quota used up.", is_error=True)
    steps = (Work(4000, "Requesting certificates"),)
    return Script(task=steps, finish=lambda _: error, poll_ms=1000, effect=False)


def _search(arguments: Json) -> Script:
    return Script(finish=_found, effect=False)


def _found(story: Story) -> Json:
    orders = [
        {"id": "A-1041", "customer": "Lindgren AB", "total_eur": 420.0},
        {"id": "A-1057", "customer": "Baker & Sons", "total_eur": 89.9},
    ]
    limit = story.arguments.get("limit", 10)
    return _structured(f"{len(orders[:limit])} orders found.", {"orders": orders[:limit]})


def _archive(arguments: Json) -> Script:
    first = {
        "tickets": form("Archive 132 closed tickets?", archive=flag_field(title="Archive")),
        "attachments": form("And their attachments (2.1 GB)?", keep=flag_field(title="Keep them")),
    }
    last = {"final": form("Everything is copied. Delete the originals?", delete=flag_field())}
    steps = (Work(1000, "Counting"), Ask(first), Work(3000, "Copying"), Ask(last), Work(1000))
    return Script(task=steps, poll_ms=1000)


DEMO_TOOLS = (
    Tool(
        "deploy_project",
        "Deploy a project",
        "Builds and checks a project, asks for the release decision, and rolls it out.",
        _deploy,
        {
            "project": text_field(title="Project", minLength=1, maxLength=60),
            "environment": choice_field("staging", "production", title="Environment"),
            "region": REGION,
        },
        ("project", "environment"),
        WRITING,
    ),
    Tool(
        "purge_partition",
        "Purge a partition",
        "Deletes every row of a partition. Asks for its name first.",
        _purge,
        {"partition": text_field(title="Partition", minLength=1)},
        ("partition",),
        DESTRUCTIVE,
    ),
    Tool(
        "issue_refund",
        "Issue a refund",
        "Refunds an order after somebody decided amount and reason.",
        _refund,
        {"order": text_field(title="Order number", pattern="^[A-Z]-[0-9]+$")},
        ("order",),
        DESTRUCTIVE,
    ),
    Tool(
        "book_maintenance",
        "Book a maintenance window",
        "Asks for a window and the services concerned, and books it.",
        _window,
        {"team": text_field(title="Team")},
        (),
        WRITING,
    ),
    Tool(
        "connect_repository",
        "Connect a repository",
        "Sends somebody to the provider's page to allow access.",
        _connect,
        {"repository": text_field(title="Repository", minLength=1)},
        ("repository",),
        {**WRITING, "openWorldHint": True},
    ),
    Tool(
        "run_report",
        "Run the sales report",
        "Reads four months of orders and draws a chart. Takes about twenty seconds.",
        _report,
        {"region": REGION, "currency": choice_field("EUR", "USD", title="Currency")},
        ("region",),
        READ_ONLY,
        _record(region=text_field(), orders=integer_field(), revenue_eur={"type": "number"}),
    ),
    Tool(
        "rotate_certificates",
        "Rotate certificates",
        "Requests new certificates for all services.",
        _rotate,
        {"days": integer_field(title="Valid for (days)", minimum=1, maximum=397, default=90)},
        (),
        DESTRUCTIVE,
    ),
    Tool(
        "search_orders",
        "Search orders",
        "Finds orders by customer or number.",
        _search,
        {
            "query": text_field(title="Query"),
            "limit": integer_field(title="At most", minimum=1, maximum=100, default=10),
        },
        ("query",),
        READ_ONLY,
        _record(orders={"type": "array", "items": {"type": "object"}}),
    ),
    Tool(
        "archive_tickets",
        "Archive old tickets",
        "Copies closed tickets to the archive; asks twice, two things at once.",
        _archive,
        {"older_than_days": integer_field(title="Older than (days)", minimum=0, default=365)},
        (),
        DESTRUCTIVE,
    ),
)
