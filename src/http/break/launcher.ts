// Asks the launcher of `npm start`, which can break the stack that it runs.
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ApiParts } from '../endpoint.ts'

/** The launcher is on this machine, and answers at once. */
const LAUNCHER_LIMIT_MS = 5_000

/**
 * Sends a request to the launcher.
 *
 * @throws ProblemError invalid-field when the stand-in refuses a fault; launcher-unavailable.
 */
export async function askLauncher(
  { settings, log }: ApiParts,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const launcher = settings.CONSOLE_LAUNCHER_URL
  if (launcher === undefined) throw new ProblemError('route-not-found')
  try {
    const response = await fetch(`${launcher.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${launcher.secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LAUNCHER_LIMIT_MS),
    })
    if (response.status === 400) throw refusedByStandIn()
    if (!response.ok) throw new Error(`the launcher answered ${response.status}`)
    return (await response.json()) as Record<string, unknown>
  } catch (error) {
    if (error instanceof ProblemError) throw error
    log.warn({ err: error }, 'the launcher did not do it')
    throw new ProblemError('launcher-unavailable', { cause: error })
  }
}

function refusedByStandIn(): ProblemError {
  const detail = 'The stand-in has no such fault, or it cannot strike there.'
  return new ProblemError('invalid-field', { errors: [{ pointer: '/fault', detail }] })
}
