// Reads disputes and early fraud warnings at Stripe. Neither has our metadata: the payment is named by
// the metadata of its intent, which is read with them.
import type { Done, NotExecuted } from '../../../domain/operations/outcome.ts'
import {
  type Dispute,
  type DisputeProviderStatus,
  disputeStatuses,
  type DisputeStatus,
} from '../../../domain/payments/dispute.ts'
import type { OnRepeat, Window, PaymentOfObject, ProviderDispute } from '../../payment-provider.ts'
import {
  fitTextOrNothing,
  isObjectId,
  isTimestamp,
  isJson,
  namedId,
  type Json,
} from '../../provider-text.ts'
import { asRead, unknown } from '../../call-outcomes.ts'
import { MISMATCH } from '../answers.ts'
import { toOutcome, type Connection } from '../connection.ts'
import { pagesWithRetries } from '../lists/pages.ts'
import {
  correlationIn,
  createdWithin,
  malformed,
  readIfThere,
  recordOf,
  isAmount,
  isCurrency,
  sumOf,
} from '../records/records.ts'

export async function retrieveDispute(
  connection: Connection,
  { providerDisputeId: id }: Dispute,
): Promise<Done<DisputeProviderStatus> | NotExecuted> {
  const asked = { call: 'disputes.retrieve', dispute_id: id }
  const looked = await toOutcome<DisputeProviderStatus>(connection, asked, async () => {
    const answer = await connection.stripe.disputes.retrieve(id)
    const answered = {
      status: answer.lastResponse?.statusCode,
      request_id: fitTextOrNothing(answer.lastResponse?.requestId),
      dispute_id: fitTextOrNothing(answer.id),
      dispute_status: fitTextOrNothing(answer.status),
    }
    const value = answer.id === id ? disputeProviderStatusOf(answer as unknown as Json) : undefined
    if (value === undefined) return unknown(asked, answered, MISMATCH)
    const { withdrawnMinor: withdrawn, reinstatedMinor: reinstated } = value
    return { outcome: 'done', value, asked, answered: { ...answered, withdrawn, reinstated } }
  })
  return asRead(looked)
}

export async function* listDisputes(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const { disputes } = connection.stripe
  const created = createdWithin(window)
  const expand = ['data.payment_intent']
  const list = (page: object) => disputes.list({ ...page, created, expand })
  for await (const page of pagesWithRetries(connection, list, onRepeat)) yield page.map(disputeIn)
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
  if (!isObjectId(id) || object !== 'dispute' || !isTimestamp(created)) throw malformed(record)
  return {
    providerDisputeId: id,
    ...paymentOf(record),
    providerStatus: disputeProviderStatusOf(record),
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

/**
 * The provider status of a dispute; undefined in a state that is not known here, or when the record makes no
 * sense.
 *
 * @see https://docs.stripe.com/api/disputes/object
 */
export function disputeProviderStatusOf(dispute: Json): DisputeProviderStatus | undefined {
  const { amount, currency, status, evidence_details: evidence } = dispute
  const reason = fitTextOrNothing(dispute['reason'])
  const dueBy = isJson(evidence) ? evidence['due_by'] : null
  const moved = movedBy(dispute)
  const isPossible = isAmount(amount) && isCurrency(currency) && reason !== undefined
  if (!isPossible || !isStatus(status) || moved === undefined) return undefined
  return {
    amountMinor: amount,
    currency,
    reason,
    status,
    evidenceDueAt: isTimestamp(dueBy) ? new Date(dueBy * 1_000) : null,
    ...moved,
  }
}

function isStatus(value: unknown): value is DisputeStatus {
  return disputeStatuses.some((status) => status === value)
}

type Moved = Pick<
  DisputeProviderStatus,
  'withdrawnMinor' | 'reinstatedMinor' | 'feeMinor' | 'feeCurrency'
>

/** The sums of the movements. The fee is in the currency of the balance. */
function movedBy(dispute: Json): Moved | undefined {
  const { balance_transactions: movements } = dispute
  if (!Array.isArray(movements)) return undefined
  const amounts = movements.map((movement) => amountOf(dispute, movement))
  if (!amounts.every((moved) => moved !== undefined)) return undefined
  const currencies = new Set(amounts.map(({ feeCurrency }) => feeCurrency))
  if (currencies.size > 1) return undefined
  return {
    withdrawnMinor: sumOf(amounts.map(({ amount }) => Math.max(0, -amount))),
    reinstatedMinor: sumOf(amounts.map(({ amount }) => Math.max(0, amount))),
    feeMinor: sumOf(amounts.map(({ fee }) => fee)),
    feeCurrency: [...currencies][0] ?? null,
  }
}

/**
 * The amount of a movement in the currency of the dispute. If the balance has another currency, the
 * movement shows the exchanged amount, and the dispute the original.
 */
function amountOf(dispute: Json, movement: unknown) {
  if (!isJson(movement)) return undefined
  const { amount: moved, fee, currency: feeCurrency } = movement
  const areNumbers = Number.isSafeInteger(moved) && Number.isSafeInteger(fee)
  if (!areNumbers || !isCurrency(feeCurrency)) return undefined
  const isExchanged = feeCurrency !== dispute['currency']
  const signed = Number(moved)
  const amount = isExchanged ? Math.sign(signed) * Number(dispute['amount']) : signed
  return { amount, fee: Number(fee), feeCurrency }
}
