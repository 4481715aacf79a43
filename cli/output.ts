// Writes lines of text, or JSON, to the terminal. Text that a client sent reaches it without control
// characters, so that no payment can move the cursor, set a title or hide a line.
import type { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'

export interface Output {
  readonly isJson: boolean
  /** Writes lines of text. Nothing in a line can end it. */
  lines(lines: readonly string[]): void
  /** Writes one line of JSON. */
  json(value: unknown): void
  /** Writes a line beside the result, to stderr. */
  note(line: string): void
  /** Writes the JSON of an error to stderr. */
  jsonError(value: unknown): void
  /** Writes a text of our own. */
  help(text: string): void
}

export function openOutput(stdout: Writable, stderr: Writable, isJson: boolean): Output {
  return {
    isJson,
    lines: (lines) => stdout.write(lines.map((line) => `${printable(line)}\n`).join('')),
    json: (value) => stdout.write(`${asciiControls(JSON.stringify(value))}\n`),
    note: (line) => stderr.write(`${printable(line)}\n`),
    jsonError: (value) => stderr.write(`${asciiControls(JSON.stringify(value))}\n`),
    help: (text) => stdout.write(text),
  }
}

/** Controls, and the characters that turn the direction of text or end a line. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(CONTROLS, '')
}

/** The same JSON: a terminal obeys the controls that JSON does not escape. */
function asciiControls(json: string): string {
  return json.replaceAll(
    CONTROLS,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
