// Renders a draft to bytes: fills in the placeholders, then the signatures, which cover everything
// else.
import { createHmac } from 'node:crypto'
import { fillIn, type Draft, type Header, type Names } from './draft.ts'

const LATE_SECONDS = 3_600

/** The parts of a request that signatures cover, and their keys. */
interface SignedParts {
  readonly apiKey: string
  readonly webhookSecret: string
  readonly method: string
  readonly target: string
  readonly body: Buffer
}

/** Returns the bytes that this run sends. Unknown placeholders stay as they are. */
export function renderRequest(draft: Draft, names: Names): Buffer {
  if (draft.raw !== undefined) return Buffer.from(fillIn(draft.raw, names), 'latin1')
  const target = fillIn(draft.target, names)
  const body = Buffer.from(fillIn(draft.body ?? '', names), 'latin1')
  const signed = {
    apiKey: names('tenant-key') ?? '',
    webhookSecret: names('webhook-secret') ?? '',
    method: draft.method,
    target,
    body,
  }
  const withSignatures: Names = (name) => names(name) ?? signatureNamed(name, signed)
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

function signatureNamed(name: string, signed: SignedParts): string | undefined {
  const now = Math.floor(Date.now() / 1_000)
  if (name === 'request-timestamp') return requestTimestamp(signed, now)
  if (name === 'late-request-timestamp') return requestTimestamp(signed, now - LATE_SECONDS)
  if (name === 'early-request-timestamp') return requestTimestamp(signed, now + LATE_SECONDS)
  if (name === 'stripe-signature') return stripeSignature(signed, now)
  if (name === 'late-stripe-signature') return stripeSignature(signed, now - LATE_SECONDS)
  if (name === 'early-stripe-signature') return stripeSignature(signed, now + LATE_SECONDS)
  return undefined
}

function requestTimestamp({ apiKey, method, target, body }: SignedParts, seconds: number): string {
  const signature = createHmac('sha256', apiKey).update(`${seconds}.${method}.${target}.`)
  return `t=${seconds},v1=${signature.update(body).digest('hex')}`
}

function stripeSignature({ webhookSecret, body }: SignedParts, seconds: number): string {
  const signature = createHmac('sha256', webhookSecret).update(`${seconds}.`).update(body)
  return `t=${seconds},v1=${signature.digest('hex')}`
}
