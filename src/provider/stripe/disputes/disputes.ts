// Reads disputes and early fraud warnings at Stripe. Neither has our metadata: the payment is named by
// the metadata of its intent, which is read with them.
import type { Done, NotExecuted } from '../../../domain/operations/outcome.ts'
import type { Dispute, DisputeStanding } from '../../../domain/payments/dispute.ts'
import type { OnRepeat, Window } from '../../payment-provider.ts'
import type { PaymentOfObject, ProviderDispute } from '../../provider-dispute.ts'
import { fitTextOrNothing, isObjectId } from '../../provider-text.ts'
import { asLook, unknown } from '../../call-outcomes.ts'
import { MISMATCH } from '../answers.ts'
import { toOutcome, type Connection } from '../connection.ts'
import { isInstant, isJson, namedId, type Json } from '../../json.ts'
import { patientPagesOf } from '../lists/pages.ts'
import {
  correlationIn,
  createdWithin,
  malformed,
  readIfThere,
  recordOf,
} from '../records/records.ts'
import { disputeStandingOf } from './dispute-standing.ts'

export async function retrieveDispute(
  connection: Connection,
  { providerDisputeId: id }: Dispute,
): Promise<Done<DisputeStanding> | NotExecuted> {
  const asked = { call: 'disputes.retrieve', dispute_id: id }
  const looked = await toOutcome<DisputeStanding>(connection, asked, async () => {
    const answer = await connection.stripe.disputes.retrieve(id)
    const answered = {
      status: answer.lastResponse?.statusCode,
      request_id: fitTextOrNothing(answer.lastResponse?.requestId),
      dispute_id: fitTextOrNothing(answer.id),
      dispute_status: fitTextOrNothing(answer.status),
    }
    const value = answer.id === id ? disputeStandingOf(answer as unknown as Json) : undefined
    if (value === undefined) return unknown(asked, answered, MISMATCH)
    const { withdrawnMinor: withdrawn, reinstatedMinor: reinstated } = value
    return { outcome: 'done', value, asked, answered: { ...answered, withdrawn, reinstated } }
  })
  return asLook(looked)
}

export async function* listDisputes(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const { disputes } = connection.stripe
  const created = createdWithin(window)
  const expand = ['data.payment_intent']
  const list = (page: object) => disputes.list({ ...page, created, expand })
  for await (const page of patientPagesOf(connection, list, onRepeat)) yield page.map(disputeIn)
}

export async function readDispute(
  connection: Connection,
  id: string,
): Promise<ProviderDispute | undefined> {
  const { disputes } = connection.stripe
  const expand = ['payment_intent']
  const dispute = await readIfThere(connection, () => disputes.retrieve(id, { expand }))
  return dispute === undefined ? undefined : disputeIn(recordOf(dispute, id))
}

export async function readEarlyFraudWarning(
  connection: Connection,
  id: string,
): Promise<PaymentOfObject | undefined> {
  const { earlyFraudWarnings } = connection.stripe.radar
  const expand = ['payment_intent']
  const warning = await readIfThere(connection, () => earlyFraudWarnings.retrieve(id, { expand }))
  return warning === undefined ? undefined : paymentOf(recordOf(warning, id))
}

function disputeIn(record: Json): ProviderDispute {
  const { id, object, created } = record
  if (!isObjectId(id) || object !== 'dispute' || !isInstant(created)) throw malformed(record)
  return {
    providerDisputeId: id,
    ...paymentOf(record),
    standing: disputeStandingOf(record),
    createdAt: new Date(created * 1_000),
  }
}

/** Old charges belong to no intent. */
function paymentOf({ payment_intent: intent }: Json): PaymentOfObject {
  const metadata = isJson(intent) ? intent['metadata'] : undefined
  return {
    providerPaymentId: namedId(intent),
    correlation: isJson(metadata) ? correlationIn(metadata) : null,
  }
}
