// Reads one JSON object {schema, value} a line; prints {valid, issues} a line.
// The schemas are those of the official Tasks extension package, by their exported names.
import { createInterface } from "node:readline";
import * as schemas from "@modelcontextprotocol/ext-tasks/core/v2";

for await (const line of createInterface({ input: process.stdin })) {
  const { schema, value } = JSON.parse(line);
  const { success, error } = schemas[schema].safeParse(value);
  console.log(JSON.stringify({ valid: success, issues: error?.issues ?? [] }));
}
