// Requests a look-up at the provider when a client reads a payment or refund with an unknown
// outcome. The outcome resolver does it later: the reader does not wait, and many readers cause one
// look-up.
import { requestCheckOfPayment } from '../../db/operations/unknown-outcomes.ts'
import type { ApiParts } from '../endpoint.ts'

/** For as long as the provider counts the reads of a transaction. */
const MONTH_SECONDS = 30 * 24 * 60 * 60

/** Errors of the store fail the read, like the errors of its other statements. */
export async function checkOnRead(
  { store, settings }: ApiParts,
  { tenantId, paymentId, status }: { tenantId: string; paymentId: string; status: string },
): Promise<void> {
  if (status !== 'unknown') return
  const apart = { seconds: settings.CHECK_ON_READ_SECONDS, mostSeconds: MONTH_SECONDS }
  await requestCheckOfPayment(store.sql, { tenantId, paymentId }, apart)
}
