// Reads Stripe's balance transactions, the movements on the balance, for reconciliation. Their
// category says what moved, not their type. No movement is left out: one that this file does not know
// is returned as `unknown`.
import type {
  OnRepeat,
  OtherMovement,
  ProviderMovement,
  Window,
  Correlation,
} from '../../payment-provider.ts'
import type { MovementKind } from '../../../domain/ledger/ledger.ts'
import {
  fitTextOrNothing,
  isObjectId,
  isTimestamp,
  isJson,
  namedId,
  type Json,
} from '../../provider-text.ts'
import type { Connection } from '../connection.ts'
import { pagesWithRetries } from '../lists/pages.ts'
import {
  correlationIn,
  createdWithin,
  isAmount,
  isCurrency,
  isRelease,
  malformed,
  sumOf,
} from './records.ts'

/**
 * What each category moves. `release`: the rest of a partial capture, which is a part of the movement
 * of its capture. `account`: no money of a payment. Any other category is unknown, as long as it has
 * no line here.
 *
 * @see https://docs.stripe.com/reports/reporting-categories
 */
const subjects = new Map<unknown, MovementKind | 'release' | 'account'>([
  ['charge', 'capture'],
  ['partial_capture_reversal', 'release'],
  ['refund', 'refund'],
  ['refund_failure', 'refund_failure'],
  ['dispute', 'dispute'],
  ['dispute_reversal', 'dispute_reversal'],
  ['payout', 'account'],
  ['payout_reversal', 'account'],
  ['topup', 'account'],
  ['topup_reversal', 'account'],
  ['risk_reserved_funds', 'account'],
  // Fees of the account. The fee for a charge is a member of its movement.
  ['fee', 'account'],
  ['network_cost', 'account'],
  ['tax', 'account'],
])

type Movement = ProviderMovement | OtherMovement

export async function* listMovements(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const { balanceTransactions } = connection.stripe
  const created = createdWithin(window)
  const expand = ['data.source', 'data.source.charge']
  const list = (page: object) => balanceTransactions.list({ ...page, created, expand })
  for await (const page of pagesWithRetries(connection, list, onRepeat)) {
    const movements: Movement[] = []
    for (const record of page) {
      const releases = await readReleases(connection, record, onRepeat)
      movements.push(...movementIn(record, releases))
    }
    yield movements
  }
}

/** The members that every balance transaction has. */
function readMovement(record: Json): OtherMovement {
  const { id, object, type, amount, currency, fee, created, source } = record
  const isMovement = isObjectId(id) && object === 'balance_transaction' && isTimestamp(created)
  const hasAmounts = Number.isSafeInteger(amount) && Number.isSafeInteger(fee)
  if (!isMovement || !hasAmounts || !isCurrency(currency) || typeof type !== 'string') {
    throw malformed(record)
  }
  return {
    movementId: id,
    kind: 'unknown',
    category: fitTextOrNothing(record['reporting_category']) ?? '',
    type: fitTextOrNothing(type) ?? '',
    amountMinor: amount as number,
    currency,
    fee: { amountMinor: fee as number, currency },
    sourceId: namedId(source),
    providerPaymentId: isJson(source) ? namedId(source['payment_intent']) : null,
    createdAt: new Date(created * 1_000),
    correlation: sourceCorrelation(source),
  }
}

/** Empty for the rest of a partial capture. */
function movementIn(record: Json, releases: readonly Release[]): Movement[] {
  const movement = readMovement(record)
  const subject = subjects.get(record['reporting_category'])
  switch (subject) {
    case undefined:
      return [movement]
    case 'release':
      return isRestOfCapture(record) ? [] : [movement]
    case 'account':
      return [isOfPayment(movement) ? movement : { ...movement, kind: 'account' }]
    case 'capture':
    case 'refund':
    case 'refund_failure':
    case 'dispute':
    case 'dispute_reversal':
      return [asMoneyOfPayment(record, movement, subject, releases) ?? movement]
  }
}

function isOfPayment({ providerPaymentId, correlation }: OtherMovement): boolean {
  return providerPaymentId !== null || correlation !== null
}

/** Undefined if the amount is not one that such a movement can have. */
function asMoneyOfPayment(
  record: Json,
  { movementId, fee, providerPaymentId, createdAt, correlation }: OtherMovement,
  kind: MovementKind,
  releases: readonly Release[],
): ProviderMovement | undefined {
  const moved = amountMoved(record, kind, sumOf(releases.map(({ amountMinor }) => amountMinor)))
  if (moved === undefined) return undefined
  const returned = sumOf(releases.map(({ feeMinor }) => feeMinor))
  return {
    movementId,
    kind,
    ...moved,
    fee: { ...fee, amountMinor: fee.amountMinor + returned },
    providerPaymentId,
    providerRefundId: isOfRefund(kind) ? namedId(record['source']) : null,
    providerDisputeId: isOfDispute(kind) ? namedId(record['source']) : null,
    createdAt,
    correlation,
  }
}

const isOfRefund = (kind: MovementKind) => kind === 'refund' || kind === 'refund_failure'
const isOfDispute = (kind: MovementKind) => kind === 'dispute' || kind === 'dispute_reversal'

/** Stripe copies the metadata of an intent to its charge. A deleted source has none. */
function sourceCorrelation(source: unknown): Correlation | null {
  const metadata = isJson(source) ? source['metadata'] : undefined
  return isJson(metadata) ? correlationIn(metadata) : null
}

/**
 * The amount and currency of a movement, as the customer paid or received it. If the balance has a
 * different currency than the payment, the balance shows the exchanged amount, and the charge or
 * refund the original. Two currencies can be exchanged at a rate of exactly 1.
 */
function amountMoved(
  { amount: signed, currency, exchange_rate: rate, source }: Json,
  kind: MovementKind,
  releasedMinor: number,
) {
  const gross = isJson(source) ? source[kind === 'capture' ? 'amount_captured' : 'amount'] : null
  const isOut = kind === 'refund' || kind === 'dispute'
  const moved = isOut ? -(signed as number) : (signed as number)
  const original = isJson(source) ? source['currency'] : undefined
  const isSame = original === undefined ? (rate ?? 1) === 1 : original === currency
  const amountMinor = isSame ? moved - releasedMinor : gross
  const paidIn = isSame ? currency : original
  const fits = moved > 0 && isAmount(amountMinor) && isCurrency(paidIn)
  return fits ? { amountMinor, currency: paidIn } : undefined
}

/** What a partial capture released, and the part of the fee that Stripe returned with it. */
interface Release {
  readonly amountMinor: number
  readonly feeMinor: number
}

/**
 * Stripe books a partial capture as a movement of the whole authorization, and a second one of the
 * rest, which belongs to a refund of the charge. This reads the second one, for the first.
 */
async function readReleases(
  connection: Connection,
  { reporting_category: category, source: charge }: Json,
  onRepeat?: OnRepeat,
): Promise<Release[]> {
  if (subjects.get(category) !== 'capture' || !isJson(charge) || restOf(charge) === 0) return []
  const { refunds } = connection.stripe
  const only = { charge: String(charge['id']), expand: ['data.balance_transaction'] }
  const list = (page: object) => refunds.list({ ...page, ...only })
  const releases: Release[] = []
  for await (const page of pagesWithRetries(connection, list, onRepeat)) {
    for (const refund of page) if (isRelease(refund)) releases.push(releaseIn(refund))
  }
  return releases
}

function releaseIn(refund: Json): Release {
  const { amount: amountMinor, balance_transaction: movement } = refund
  const feeMinor = isJson(movement) ? movement['fee'] : 0
  if (!isAmount(amountMinor) || !Number.isSafeInteger(feeMinor)) throw malformed(refund)
  return { amountMinor, feeMinor: feeMinor as number }
}

/** The part of a charge that was authorized, and not captured. */
function restOf({ amount, amount_captured: captured }: Json): number {
  return isAmount(amount) && isAmount(captured) ? amount - captured : 0
}

/** Whether the movement of a refund is the rest of a partial capture, for the exact amount. */
function isRestOfCapture({ source: refund }: Json): boolean {
  if (!isJson(refund) || !isJson(refund['charge'])) return false
  return restOf(refund['charge']) > 0 && refund['amount'] === restOf(refund['charge'])
}
