// The logs of every process: JSON lines on stdout. Only what is named here leaves, so that what somebody
// adds to a line in passing (a body, a header, a row) stays inside until somebody has thought about it.
import pino, { type DestinationStream, type Logger } from 'pino'

/** Ids that we made, words of our own code, and numbers. */
const PLAIN_FIELDS: ReadonlySet<string> = new Set(
  [
    'request trace span method route tenant operator status ms aborted',
    // The id of an API key, which is none of its secret.
    'key',
    'operation name phase attempt leaseEpoch outcome task result day run',
    'event type repeated delivery httpStatus error latencyMs retryInSeconds',
    'host port concurrency inDoubt',
  ].flatMap((names) => names.split(' ')),
)

/** Sentences, which others may have had a part in. */
const FREE_TEXT_FIELDS: ReadonlySet<string> = new Set(['reason', 'message'])

/** A field of any name may count something: no secret and no card number is that short a number. */
const COUNT_MAX = 1_000_000_000

export function createLog(
  name: string,
  level: string,
  destination: DestinationStream = writeTogether(),
): Logger {
  const options = {
    name,
    level,
    formatters: { log: keepNamed },
    serializers: { err: describeError },
  }
  return pino(options, destination)
}

/** How long a line may wait for others: to write one by itself costs more than to make it. */
const WRITE_DELAY_MS = 10

/** To stdout. A process that is killed may lose the lines of its last moment, and no others. */
function writeTogether(): DestinationStream {
  const stdout = pino.destination({ dest: 1, sync: true })
  let lines = ''
  const write = () => {
    if (lines !== '') stdout.write(lines)
    lines = ''
  }
  process.on('exit', write)
  return {
    write(line) {
      if (lines === '') setTimeout(write, WRITE_DELAY_MS).unref()
      lines += line
    },
  }
}

/** The fields that may leave. Of the others the names do, for whoever misses them. */
function keepNamed(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  const unlisted: string[] = []
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    if (name === 'err') kept[name] = value
    else if (FREE_TEXT_FIELDS.has(name)) kept[name] = withoutSecrets(textOf(value))
    else if (mayLeave(name, value)) kept[name] = value
    else unlisted.push(name)
  }
  return unlisted.length === 0 ? kept : { ...kept, unlisted }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : 'not a text'
}

function mayLeave(name: string, value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) < COUNT_MAX
  return PLAIN_FIELDS.has(name) && (typeof value === 'string' || typeof value === 'boolean')
}

/**
 * What a log tells of an error: for one that wraps another, as drizzle's do, what is wrapped. Its text
 * may hold values of a statement, so that whatever looks like a secret is taken out of it.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (!isLikeAnError(error)) return { message: withoutSecrets(String(error)) }
  if (error.cause instanceof Error) return describeError(error.cause)
  const { name, code, message, stack } = error
  return {
    ...(name !== undefined && { type: name }),
    ...(code !== undefined && { code }),
    message: withoutSecrets(message),
    stack: withoutSecrets(stack ?? ''),
  }
}

interface ErrorLike extends Partial<Error> {
  readonly message: string
  readonly code?: unknown
}

/** pg-boss tells of some of its errors by a copy of what they hold. */
function isLikeAnError(error: unknown): error is ErrorLike {
  return (
    typeof error === 'object' &&
    error !== null &&
    'message' in error &&
    typeof error.message === 'string'
  )
}

/** API keys, operators' keys, Stripe's and webhooks' secrets, and what follows them. */
const SECRET = /\b(sk|rk|pk|adm|whsec)_[A-Za-z0-9_+/=-]{6,}/g
const CLIENT_SECRET = /_secret_[A-Za-z0-9]+/g
const PASSWORD_IN_URL = /:\/\/[^\s/@]+@/g
const CARD_NUMBER = /\b\d(?:[ -]?\d){12,18}\b/g

function withoutSecrets(text: string): string {
  return text
    .replace(SECRET, '$1_...')
    .replace(CLIENT_SECRET, '_secret_...')
    .replace(PASSWORD_IN_URL, '://...@')
    .replace(CARD_NUMBER, '...')
}
