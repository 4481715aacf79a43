// Writes lines of text, or JSON, to the terminal. Text that a client sent reaches it without control
// characters, so that no payment can move the cursor, set a title or hide a line.
import type { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'

export interface Output {
  readonly isJson: boolean
  /** Writes lines of text, 80 columns wide. Nothing in a line can begin another one. */
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

const COLUMNS = 80

export function openOutput(stdout: Writable, stderr: Writable, isJson: boolean): Output {
  return {
    isJson,
    lines: (lines) => stdout.write(lines.map((line) => `${wrap(printable(line))}\n`).join('')),
    json: (value) => stdout.write(`${asciiControls(JSON.stringify(value))}\n`),
    note: (line) => stderr.write(`${wrap(printable(line))}\n`),
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

/** Breaks a line at its spaces. A longer word, such as a key, stays whole, so that it can be copied. */
function wrap(line: string): string {
  const indent = ' '.repeat(line.search(/\S|$/) + 4)
  let row = ''
  let rows = ''
  for (const word of line.split(/(?<=\S)(?= )/)) {
    if (row !== '' && row.length + word.length > COLUMNS) {
      rows += `${row}\n`
      row = `${indent}${word.trimStart()}`
    } else row += word
  }
  return rows + row
}

/** The same JSON: a terminal obeys the controls that JSON does not escape. */
function asciiControls(json: string): string {
  return json.replaceAll(
    CONTROLS,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
