// A request before it is sent: every byte of it, with names in the place of keys and ids that only a run has.
// So a request that one run has found can be sent again by another.
import type { ProblemType } from '../../src/domain/problems/problems.ts'

/** A character of any text here is a byte of the request: what is not ASCII is written by `utf8`. */
export interface Draft {
  readonly method: string
  /** As it stands in the request line. */
  readonly target: string
  readonly headers: readonly Header[]
  /** Its length goes with it, unless a header speaks of one already. */
  readonly body?: string
  /** The whole request as it is, for what no method, target and headers would make. */
  readonly raw?: string
}

export type Header = readonly [name: string, value: string]

/** What has to come of a request. */
export interface Expectation {
  /** The problems of which one has to be told; none: whatever is documented will do. */
  readonly types: readonly ProblemType[]
  /** The answer comes late for a reason. */
  readonly slow?: boolean
}

export interface Case extends Expectation {
  readonly label: string
  /** As openapi.yaml calls it, if it was made of one. */
  readonly operation?: string
  readonly draft: Draft
}

/** The bytes of a text in UTF-8, a character for each. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** A line that repeats the case, for `--case`. */
export function encodeCase(one: Case): string {
  return Buffer.from(JSON.stringify(one)).toString('base64url')
}

/** @throws SyntaxError when the line is no case. */
export function decodeCase(line: string): Case {
  return JSON.parse(Buffer.from(line, 'base64url').toString()) as Case
}

/** What a name stands for in a run; undefined for what is no name of ours. */
export type Names = (name: string) => string | undefined

const NAME = /\{\{([a-z][a-z0-9-]*)\}\}/g

/** `{{spaces-70000}}` stands for so many spaces, so that a line that repeats a case stays a line. */
const REPEATED = /^(spaces|brackets|letters|digits)-(\d+)$/
const REPEATED_CHARACTERS: Readonly<Record<string, string>> = {
  spaces: ' ',
  brackets: '[',
  letters: 'k',
  digits: '1 ',
}

export function fillIn(text: string, names: Names): string {
  if (!text.includes('{{')) return text
  return text.replace(NAME, (whole, name: string) => {
    const [, kind = '', times = ''] = REPEATED.exec(name) ?? []
    const character = REPEATED_CHARACTERS[kind]
    return character?.repeat(Number(times)) ?? names(name) ?? whole
  })
}
