// Describes a kind of records, and judges two of them: payments, refunds and disputes are compared in one
// way. The judgment is pure: the caller decides when to read the two.
import type { Fragment, Sql } from '../db/connection/client.ts'
import type { NewFinding } from '../db/operations/findings.ts'
import type { FindingKind } from '../domain/operations/finding.ts'
import { showPaymentId } from '../domain/payments/payment.ts'
import { showId } from '../domain/resource-id.ts'
import type { Correlation, PaymentProvider } from '../provider/payment-provider.ts'
import type { ComparedId, Table } from './our-records.ts'
import type { Run } from './runs.ts'

/** A record of ours. The outcome of an operation on one that is `unknown` is looked up. */
export interface OurRecord {
  readonly tenantId: string
  readonly id: string
  readonly status: string
}

export interface TheirRecord {
  readonly providerPaymentId: string | null
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** A difference, as far as the two records show it. */
export type Difference = Pick<NewFinding, 'kind' | 'objectId' | 'subject' | 'ours' | 'theirs'>

/** How two records are shown to an operator. */
export interface Evidence<Ours, Theirs> {
  /** The provider's id of its record. */
  objectIdOf(theirs: Theirs): string
  subjectOf(ours: Ours): NonNullable<NewFinding['subject']> & { paymentId: string }
  describeOurs(ours: Ours): Record<string, unknown> | null
  describeTheirs(theirs: Theirs): Record<string, unknown>
}

type ListArguments = Parameters<PaymentProvider['listPayments']>

/** A kind of records: how both sides are read, compared and shown. Its functions get only records of it. */
export interface RecordKind<
  Ours extends OurRecord = OurRecord,
  Theirs extends TheirRecord = TheirRecord,
> extends Evidence<Ours, Theirs> {
  /** Of our records. */
  readonly table: Table
  list(provider: PaymentProvider, ...args: ListArguments): AsyncIterable<readonly Theirs[]>
  read(provider: PaymentProvider, objectId: string): Promise<Theirs | undefined>
  /** The provider's id that our record names. */
  objectIdIn(ours: Ours): string | null
  /** The id of our record that the provider's names. */
  ourIdIn(theirs: Theirs): string | null
  /** Finds our records that name one of these, or that one of these names. By default those of the table. */
  find?(
    sql: Sql,
    provider: string,
    wanted: readonly ComparedId[],
    page: readonly Theirs[],
  ): Promise<readonly Ours[]>
  /** Whether the row `entry` waits for the provider, also from before the window. */
  isWaiting?(sql: Sql, run: Run): Fragment
  /** Compares two records that name each other, on neither of which an operation works. */
  compare(ours: Ours, theirs: Theirs): Verdict
  /** Judges a record of the provider that names ours, while ours names another one, or none. */
  judgeStray?(ours: Ours, theirs: Theirs): readonly FindingKind[]
  /** Names what the usual phases have to follow: each state of the provider's record once. */
  stateOf(ours: Ours, theirs: Theirs): string
  /** Whether the usual phases can repair a difference. */
  canRepair?(ours: Ours, theirs: Theirs): boolean
}

/**
 * `in_motion`: an operation is working on it, and only idle records can be compared. `unknown`: the
 * outcome of an operation is unknown, and the provider's record may resolve it. `moved_on`: the
 * provider is ahead of us, and the usual phases can follow. Otherwise what differs, for an operator to look
 * at; nothing when both sides agree.
 */
export type Verdict = 'in_motion' | 'unknown' | 'moved_on' | readonly FindingKind[]

/**
 * @param ours the record that names the provider's, otherwise the one that the provider's names.
 */
export function judgeRecord(
  kind: RecordKind,
  ours: OurRecord | undefined,
  theirs: TheirRecord,
): Verdict {
  if (ours === undefined) return ['missing_here']
  if (ours.status === 'unknown') return 'unknown'
  const objectId = kind.objectIdIn(ours)
  if (objectId !== kind.objectIdOf(theirs)) {
    const stray = kind.judgeStray?.(ours, theirs) ?? ['status_differs']
    if (stray.length === 0 || objectId !== null) return stray
    return ours.status === 'processing' ? 'in_motion' : ['status_differs']
  }
  return ours.status === 'processing' ? 'in_motion' : kind.compare(ours, theirs)
}

/** Judges a record of ours of which the provider has none. */
export function judgeMissing({ status }: OurRecord): Verdict {
  if (status === 'unknown') return 'unknown'
  return status === 'processing' ? 'in_motion' : ['missing_there']
}

/** One difference of each kind, all with the same evidence. */
export function differencesIn<Ours, Theirs>(
  kinds: readonly FindingKind[],
  evidence: Evidence<Ours, Theirs>,
  ours: Ours | undefined,
  theirs: Theirs,
): Difference[] {
  const shown = {
    objectId: evidence.objectIdOf(theirs),
    subject: ours === undefined ? null : evidence.subjectOf(ours),
    ours: ours === undefined ? null : evidence.describeOurs(ours),
    theirs: evidence.describeTheirs(theirs),
  }
  return kinds.map((kind) => ({ kind, ...shown }))
}

interface Terms {
  readonly amountMinor: number
  readonly currency: string
}

/** What of amount and currency differs. */
export function differingTerms(ours: Terms, theirs: Terms): FindingKind[] {
  const kinds: FindingKind[] = []
  if (ours.amountMinor !== theirs.amountMinor) kinds.push('amount_differs')
  if (ours.currency !== theirs.currency) kinds.push('currency_differs')
  return kinds
}

/** The payment and the operation of ours that the provider's record names, if any. */
export const describeCorrelation = (correlation: Correlation | null): Record<string, unknown> =>
  correlation === null
    ? {}
    : {
        payment: showPaymentId(correlation.paymentId),
        operation: showId('op', correlation.operationId),
      }
