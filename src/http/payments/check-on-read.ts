// Reading what is unknown has it looked up at the provider at once, by the reconciler and in its own time:
// the reader is not kept waiting, and many readers are one check.
import { requestCheckOfPayment } from '../../db/operations/unknown-outcomes.ts'
import type { ApiParts } from '../endpoint.ts'

/** @throws what the store does; the reader is told, as for every other statement. */
export async function checkOnRead(
  { store, settings }: ApiParts,
  { tenantId, paymentId, status }: { tenantId: string; paymentId: string; status: string },
): Promise<void> {
  if (status !== 'unknown') return
  await requestCheckOfPayment(store.sql, { tenantId, paymentId }, settings.CHECK_ON_READ_SECONDS)
}
