// A request with placeholders in place of the keys and ids of a run. So another run can send the
// same request again.
import { createHmac } from 'node:crypto'
import type { ProblemType } from '../../src/domain/problems/problems.ts'

/** Each character of these texts is one byte of the request. `utf8` encodes other characters. */
export interface Draft {
  readonly method: string
  /** The request target, as in the request line. */
  readonly target: string
  readonly headers: readonly Header[]
  /** Sent with its content-length, unless the headers contain a length. */
  readonly body?: string
  /** The whole request, if method, target and headers cannot express it. */
  readonly raw?: string
}

export type Header = readonly [name: string, value: string]

/** A request and its expected answer. */
export interface Case {
  readonly label: string
  /** The operationId in openapi.yaml, if the case was generated from it. */
  readonly operation?: string
  readonly draft: Draft
  /** The answer must be one of these problems. Empty: any documented answer is allowed. */
  readonly types: readonly ProblemType[]
  /** Whether a late answer is expected. */
  readonly slow?: boolean
}

/** Encodes a text as UTF-8, with one character per byte. */
export function utf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** Encodes a case as one line for `--case`. */
export function encodeCase(one: Case): string {
  return Buffer.from(JSON.stringify(one)).toString('base64url')
}

/** @throws SyntaxError if the line is not a case. */
export function decodeCase(line: string): Case {
  return JSON.parse(Buffer.from(line, 'base64url').toString()) as Case
}

/** Returns the value of a placeholder in this run, or undefined if there is none. */
export type Names = (name: string) => string | undefined

const NAME = /\{\{([a-z][a-z0-9-]*)\}\}/g

/** `{{spaces-70000}}` stands for 70,000 spaces, so that the line of a case stays short. */
const REPEATED = /^(spaces|brackets|letters|digits)-(\d+)$/
const REPEATED_CHARACTERS: Readonly<Record<string, string>> = {
  spaces: ' ',
  brackets: '[',
  letters: 'k',
  digits: '1 ',
}

function fillIn(text: string, names: Names): string {
  if (!text.includes('{{')) return text
  return text.replace(NAME, (whole, name: string) => {
    const [, kind = '', times = ''] = REPEATED.exec(name) ?? []
    const character = REPEATED_CHARACTERS[kind]
    return character?.repeat(Number(times)) ?? names(name) ?? whole
  })
}

/** Returns the bytes that this run sends. Unknown placeholders stay as they are. */
export function renderRequest(draft: Draft, names: Names): Buffer {
  if (draft.raw !== undefined) return Buffer.from(fillIn(draft.raw, names), 'latin1')
  const target = fillIn(draft.target, names)
  const body = Buffer.from(fillIn(draft.body ?? '', names), 'latin1')
  const withSignatures: Names = (name) =>
    names(name) ?? signatureNamed(name, draft, names, body, target)
  const lines = [...draft.headers, ...framing(draft, body)].map(
    ([name, value]) => `${name}: ${fillIn(value, withSignatures)}`,
  )
  const head = `${draft.method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}

function framing({ headers, body }: Draft, bytes: Buffer): Header[] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const isFramed = names.has('content-length') || names.has('transfer-encoding')
  return [
    ...(names.has('host') ? [] : [['host', 'fuzz'] as const]),
    ...(body === undefined || isFramed ? [] : [['content-length', String(bytes.length)] as const]),
  ]
}

/** How many seconds a signature is late by its name. */
const LATE_SECONDS: Readonly<Record<string, number>> = { late: 3_600, early: -3_600 }

/** The headers that sign a request, by what they sign: the service's own, and the provider's. */
function signatureNamed(name: string, draft: Draft, names: Names, body: Buffer, target: string) {
  const [, when = '', kind] =
    /^(?:(late|early)-)?(request-timestamp|stripe-signature)$/.exec(name) ?? []
  if (kind === undefined) return undefined
  const seconds = Math.floor(Date.now() / 1_000) - (LATE_SECONDS[when] ?? 0)
  const isOwn = kind === 'request-timestamp'
  const signature = createHmac('sha256', names(isOwn ? 'tenant-key' : 'webhook-secret') ?? '')
    .update(isOwn ? `${seconds}.${draft.method}.${target}.` : `${seconds}.`)
    .update(body)
    .digest('hex')
  return `t=${seconds},v1=${signature}`
}
