// Describes a kind of records, and judges two of them: payments, refunds and disputes are compared in one
// way. The judgment is pure: the caller decides when to read the two.
import type { Sql } from '../db/connection/client.ts'
import type { ComparedId } from '../db/reconciliation/compared-records.ts'
import type { Run } from '../db/reconciliation/reconciliation-runs.ts'
import type { ProviderEvent } from '../domain/events/provider-event.ts'
import type { FindingKind } from '../domain/operations/finding.ts'
import type { NewFinding } from '../db/reconciliation/findings.ts'
import { showPaymentId } from '../domain/payments/payment.ts'
import { showId } from '../domain/resource-id.ts'
import type {
  Correlation,
  OnRepeat,
  PaymentProvider,
  Window,
} from '../provider/payment-provider.ts'
import {
  agrees,
  differsIn,
  inMotion,
  movedOn,
  outcomeUnknown,
  type Difference,
  type Verdict,
} from './verdict.ts'

/** A record of ours. The outcome of an operation on one that is `unknown` is looked up. */
export interface OurRecord {
  readonly tenantId: string
  readonly id: string
  readonly status: string
}

export interface TheirRecord {
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** A kind of records: how both sides are read, compared and shown. */
export interface RecordKind<Ours extends OurRecord, Theirs extends TheirRecord> {
  /** Under which its records are counted, and its progress is shown; disputes have none. */
  readonly stage?: 'payments' | 'refunds'
  readonly list: (
    provider: PaymentProvider,
    window: Window,
    onRepeat: OnRepeat,
  ) => AsyncIterable<readonly Theirs[]>
  readonly read: (provider: PaymentProvider, objectId: string) => Promise<Theirs | undefined>
  /** The provider's id of its record. */
  readonly objectIdOf: (theirs: Theirs) => string
  /** The provider's id that our record names. */
  readonly objectIdIn: (ours: Ours) => string | null
  /** The id of our record that the provider's names. */
  readonly ourIdIn: (correlation: Correlation) => string | null
  readonly subjectOf: (ours: Ours) => NonNullable<NewFinding['subject']> & { paymentId: string }
  readonly describeOurs: (ours: Ours) => Record<string, unknown> | null
  readonly describeTheirs: (theirs: Theirs) => Record<string, unknown>
  /** Finds our records that name one of these, or that one of these names. */
  readonly find: (
    sql: Sql,
    provider: string,
    wanted: readonly ComparedId[],
    page: readonly Theirs[],
  ) => Promise<readonly Ours[]>
  /** Our records of the window that no page contained. */
  readonly walkMissing?: (sql: Sql, run: Run) => AsyncIterable<readonly Ours[]>
  /** The provider's ids of our records that wait for the provider, also from before the window. */
  readonly walkWaiting?: (sql: Sql, run: Run) => AsyncIterable<readonly string[]>
  /** Compares two records that name each other, on neither of which an operation works. */
  readonly compare: (ours: Ours, theirs: Theirs) => Comparability
  /** Judges a record of the provider that names ours, while ours names another one, or none. */
  readonly judgeStray?: (ours: Ours, theirs: Theirs) => Stray
  /** The event that makes the usual phases follow the provider. */
  readonly eventOf: (ours: Ours, theirs: Theirs, run: Run, now: Date) => ProviderEvent
  /** The event that repairs a difference, if one can. */
  readonly repairOf?: (ours: Ours, theirs: Theirs, now: Date) => ProviderEvent | undefined
}

/** What differs. Without a kind the records agree. */
type Comparability = 'moved_on' | 'in_motion' | readonly FindingKind[]

/** `nothing`: it moved no money and never will. Otherwise the difference if ours names another record. */
type Stray = 'nothing' | FindingKind

/**
 * @param ours the record that names the provider's, otherwise the one that the provider's names.
 */
export function judgeRecord<Ours extends OurRecord, Theirs extends TheirRecord>(
  kind: RecordKind<Ours, Theirs>,
  ours: Ours | undefined,
  theirs: Theirs,
): Verdict {
  const evidence = evidenceOf(kind, ours, theirs)
  if (ours === undefined) return differsIn(['missing_here'], evidence)
  if (ours.status === 'unknown') return outcomeUnknown
  if (kind.objectIdIn(ours) !== kind.objectIdOf(theirs)) {
    const stray = kind.judgeStray?.(ours, theirs) ?? 'status_differs'
    if (stray === 'nothing') return agrees
    if (kind.objectIdIn(ours) !== null) return differsIn([stray], evidence)
    return ours.status === 'processing' ? inMotion : differsIn(['status_differs'], evidence)
  }
  if (ours.status === 'processing') return inMotion
  const compared = kind.compare(ours, theirs)
  if (compared === 'moved_on') return movedOn
  return compared === 'in_motion' ? inMotion : differsIn(compared, evidence)
}

/** Judges a record of ours of which the provider has none. */
export function judgeMissing<Ours extends OurRecord, Theirs extends TheirRecord>(
  kind: RecordKind<Ours, Theirs>,
  ours: Ours,
  objectId: string,
): Verdict {
  if (ours.status === 'unknown') return outcomeUnknown
  if (ours.status === 'processing') return inMotion
  const evidence = { subject: kind.subjectOf(ours), ours: kind.describeOurs(ours), theirs: null }
  return differsIn(['missing_there'], { objectId, ...evidence })
}

export function evidenceOf<Ours extends OurRecord, Theirs extends TheirRecord>(
  kind: RecordKind<Ours, Theirs>,
  ours: Ours | undefined,
  theirs: Theirs,
): Omit<Difference, 'kind'> {
  return {
    objectId: kind.objectIdOf(theirs),
    subject: ours === undefined ? null : kind.subjectOf(ours),
    ours: ours === undefined ? null : kind.describeOurs(ours),
    theirs: kind.describeTheirs(theirs),
  }
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
export function describeCorrelation(correlation: Correlation | null): Record<string, unknown> {
  return correlation === null
    ? {}
    : {
        payment: showPaymentId(correlation.paymentId),
        operation: showId('op', correlation.operationId),
      }
}
