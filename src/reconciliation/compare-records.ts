// Compares records of the provider with ours, one page at a time: what payments and refunds share. A
// difference counts only if a second look at both sides still shows it, so that normal traffic never causes
// one.
import type { Sql } from '../db/connection/client.ts'
import type { ComparedId } from '../db/reconciliation/compared-records.ts'
import { type Run, recordCompared } from '../db/reconciliation/reconciliation-runs.ts'
import type { ProviderEvent } from '../domain/events/provider-event.ts'
import type {
  Correlation,
  OnRepeat,
  PaymentProvider,
  Window,
} from '../provider/payment-provider.ts'
import {
  countInMotion,
  eachPage,
  follow,
  nameTenants,
  report,
  requestCheck,
  throwIfEnded,
  untilStopped,
  type Comparison,
} from './comparison.ts'
import type { Difference, Verdict } from './verdict.ts'

interface OurRecord {
  readonly tenantId: string
  readonly id: string
  readonly status: string
}

interface TheirRecord {
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** A kind of records: how both sides are read, and judged. */
export interface RecordKind<Ours extends OurRecord, Theirs extends TheirRecord> {
  readonly stage: 'payments' | 'refunds'
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
  readonly paymentIdOf: (ours: Ours) => string
  /** Finds our records that name one of these, or that one of these names. */
  readonly findCompared: (
    sql: Sql,
    provider: string,
    wanted: readonly ComparedId[],
  ) => Promise<Ours[]>
  readonly find: (sql: Sql, tenantId: string, id: string) => Promise<Ours | undefined>
  /** Our records of the window that no page contained. */
  readonly walkMissing: (sql: Sql, run: Run) => AsyncIterable<readonly Ours[]>
  readonly judge: (ours: Ours | undefined, theirs: Theirs) => Verdict
  /** Judges a record of ours of which the provider has none. */
  readonly judgeMissing: (ours: Ours, objectId: string) => Verdict
  readonly evidenceOf: (ours: Ours, theirs: Theirs) => Omit<Difference, 'kind'>
  /** The event that makes the usual phases follow the provider. */
  readonly eventOf: (ours: Ours, theirs: Theirs, run: Run, now: Date) => ProviderEvent
  /** The event that repairs a difference, if one can. */
  readonly repairOf?: (ours: Ours, theirs: Theirs, now: Date) => ProviderEvent | undefined
}

/** Compares every record that the provider created in the window with ours. */
export async function compareListed<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
): Promise<void> {
  const { parts, run } = comparison
  const list = (window: Window, onRepeat: OnRepeat) => kind.list(parts.provider, window, onRepeat)
  await eachPage(comparison, kind.stage, list, async (page) => {
    await judgePage(comparison, kind, page)
    await recordCompared(
      parts.store.sql,
      run.id,
      page.map((theirs) => kind.objectIdOf(theirs)),
    )
  })
}

/** Compares records of ours from the window that no page contained with the provider's. */
export async function compareUnseen<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
): Promise<void> {
  const { parts, run, counts } = comparison
  for await (const page of kind.walkMissing(parts.store.sql, run)) {
    await throwIfEnded(comparison)
    for (const ours of untilStopped(comparison, page)) {
      const objectId = kind.objectIdIn(ours)
      if (objectId === null) {
        counts.in_motion += 1
        continue
      }
      const theirs = await kind.read(parts.provider, objectId)
      if (theirs === undefined) await actOnMissing(comparison, kind, ours, objectId)
      else await judgePage(comparison, kind, [theirs])
      counts[kind.stage] += 1
    }
  }
}

/** Reads the provider's record, and compares it. */
export async function compareObject<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  objectId: string,
): Promise<void> {
  const theirs = await kind.read(comparison.parts.provider, objectId)
  if (theirs !== undefined) await judgePage(comparison, kind, [theirs])
}

/** Judges records of the provider, from a list or read one by one. */
async function judgePage<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  page: readonly Theirs[],
): Promise<void> {
  const { parts, run } = comparison
  const wanted = page.map((theirs) => ({
    objectId: kind.objectIdOf(theirs),
    named: namedBy(kind, theirs),
  }))
  const found = await kind.findCompared(parts.store.sql, run.provider, wanted)
  const byObjectId = new Map(found.map((ours) => [kind.objectIdIn(ours), ours]))
  const byOurId = new Map(found.map((ours) => [ours.id, ours]))
  const differences: Difference[] = []
  for (const theirs of untilStopped(comparison, page)) {
    const ours =
      byObjectId.get(kind.objectIdOf(theirs)) ?? byOurId.get(namedBy(kind, theirs)?.id ?? '')
    differences.push(...(await act(comparison, kind, ours, theirs)))
  }
  await report(comparison, differences)
}

/** The record of ours that the provider's names. */
function namedBy<Ours extends OurRecord, Theirs extends TheirRecord>(
  kind: RecordKind<Ours, Theirs>,
  { correlation }: Theirs,
): ComparedId['named'] {
  if (correlation === null) return null
  const id = kind.ourIdIn(correlation)
  return id === null ? null : { tenantId: correlation.tenantId, id }
}

/** Acts on a verdict, and returns the differences that need an operator. */
async function act<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  ours: Ours | undefined,
  theirs: Theirs,
): Promise<Difference[]> {
  const verdict = kind.judge(ours, theirs)
  switch (verdict.verdict) {
    case 'agrees':
      return []
    case 'in_motion':
      await countInMotion(comparison, ours?.id)
      return []
    case 'unknown':
      if (ours !== undefined) await requestCheck(comparison, subjectOf(kind, ours))
      return []
    case 'moved_on':
    case 'differs': {
      if (ours !== undefined) return await actOnSecondLook(comparison, kind, ours, theirs)
      // Our row is written before the provider is called, so a missing row will not appear later.
      const differences = verdict.verdict === 'differs' ? verdict.differences : []
      return await nameTenants(
        comparison,
        differences.map((difference) => ({ difference, theirs })),
      )
    }
  }
}

function subjectOf<Ours extends OurRecord, Theirs extends TheirRecord>(
  kind: RecordKind<Ours, Theirs>,
  ours: Ours,
) {
  return { tenantId: ours.tenantId, paymentId: kind.paymentIdOf(ours) }
}

/**
 * Reads the provider's record and then ours again. If ours has the same status as at the first
 * look, it did not change while the provider's was read, so a difference is not an effect of
 * reading at two moments.
 */
async function actOnSecondLook<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  before: Ours,
  seen: Theirs,
): Promise<Difference[]> {
  const { provider, store, clock } = comparison.parts
  const theirs = await kind.read(provider, kind.objectIdOf(seen))
  const ours = await kind.find(store.sql, before.tenantId, before.id)
  if (ours === undefined || theirs === undefined || ours.status !== before.status) {
    comparison.counts.in_motion += 1
    return []
  }
  const verdict = kind.judge(ours, theirs)
  switch (verdict.verdict) {
    case 'differs': {
      const repair = kind.repairOf?.(ours, theirs, clock.now())
      const isRepaired = repair !== undefined && (await follow(comparison, repair))
      return isRepaired ? [] : [...verdict.differences]
    }
    case 'moved_on': {
      const event = kind.eventOf(ours, theirs, comparison.run, clock.now())
      if (await follow(comparison, event)) return []
      return [{ kind: 'status_differs', ...kind.evidenceOf(ours, theirs) }]
    }
    case 'agrees':
    case 'in_motion':
    case 'unknown':
      comparison.counts.in_motion += 1
      return []
  }
}

async function actOnMissing<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  ours: Ours,
  objectId: string,
): Promise<void> {
  const verdict = kind.judgeMissing(ours, objectId)
  if (verdict.verdict === 'differs') await report(comparison, verdict.differences)
  else if (verdict.verdict === 'unknown') await requestCheck(comparison, subjectOf(kind, ours))
  else comparison.counts.in_motion += 1
}
