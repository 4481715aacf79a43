// The logs of every process: JSON lines on stdout. Errors are logged by what is safe to tell of them:
// the statement parameters that database errors carry may hold a part of a secret.
import pino, { type Logger } from 'pino'

export function createLog(name: string, level: string): Logger {
  return pino({ name, level, serializers: { err: describeError } })
}

/** What a log tells of an error: for one that wraps another, as drizzle's do, what is wrapped. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  if (error.cause instanceof Error) return describeError(error.cause)
  const code = 'code' in error ? { code: error.code } : {}
  return { type: error.name, ...code, message: error.message, stack: error.stack }
}
