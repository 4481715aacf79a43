// Refuses new idempotency keys that are shorter than the tenant's minimum.
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ApiParts } from '../endpoint.ts'

/**
 * A retry is never refused: the minimum may be newer than its key, and another key would be a second
 * execution.
 *
 * @param isKnown whether the key is reserved already; called only for a short key.
 * @throws ProblemError idempotency-key-too-short.
 */
export async function refuseShortKey(
  { KEY_LENGTH_MIN }: ApiParts['settings'],
  key: string,
  isKnown: () => Promise<boolean>,
): Promise<void> {
  if (key.length >= KEY_LENGTH_MIN || (await isKnown())) return
  const detail = `The Idempotency-Key has less than ${KEY_LENGTH_MIN} characters.`
  throw new ProblemError('idempotency-key-too-short', { detail })
}
