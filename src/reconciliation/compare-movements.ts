// Compares what moved on the provider's balance with the ledger, one to one. What has been reported of a
// payment or refund already is the cause of whatever its movement shows, and not reported again.
import {
  findLedgerCaptures,
  findLedgerRefunds,
  type LedgerMovement,
  type LedgerTransactionMovement,
} from '../db/ledger/ledger-movements.ts'
import {
  findPaymentsOf,
  findRefundsOf,
  type ComparedId,
} from '../db/reconciliation/compared-payments.ts'
import { findReported } from '../db/reconciliation/reported-findings.ts'
import {
  recordCompared,
  seenCapture,
  seenRefund,
  notComparedAmong,
  walkMissingLedgerMovements,
} from '../db/reconciliation/reconciliation-progress.ts'
import { inTransaction } from '../db/connection/transaction.ts'
import type { PaymentProvider, ProviderMovement } from '../provider/payment-provider.ts'
import { askForCheck, eachPage, logRepeats, report, type Comparison } from './comparison.ts'
import {
  judgeMovement,
  missingMovement,
  repeatedMovement,
  subjectOfMovement,
} from './judge-movement.ts'
import type { Difference, Verdict } from './verdict.ts'

type Page = readonly ProviderMovement[]

/** Holds every movement of the window against the ledger. */
export async function compareMovements(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const list: PaymentProvider['listMovements'] = (...asked) =>
    parts.provider.listMovements(...asked)
  await eachPage(comparison, 'movements', list, async (page) => {
    const bookedOf = await findBooked(comparison, page)
    const verdicts = page.map((movement) => judgeMovement(bookedOf(movement), movement))
    for (const [index, movement] of page.entries()) {
      const ours = bookedOf(movement)
      if (verdicts[index]?.verdict === 'unknown' && ours) await askForCheck(comparison, ours)
      if (verdicts[index]?.verdict === 'in_motion') comparison.counts.in_motion += 1
    }
    // What is repeated is known by what was noted before, so that the two are one transaction.
    await inTransaction(parts.store.sql, async (tx) => {
      const noted = await recordCompared(tx, run.id, page.flatMap(namesToNote))
      const repeated = repeatedIn(page, noted).map((movement) =>
        repeatedMovement(bookedOf(movement), movement),
      )
      const differences = differencesIn([...verdicts, ...repeated])
      const causes = await findReported(tx, run, page.flatMap(idsIn))
      const own = new Map(page.map((movement) => [movement.movementId, idsIn(movement)]))
      const fresh = differences.filter(
        ({ objectId }) => !own.get(objectId)?.some((id) => causes.has(id)),
      )
      await report(comparison, fresh, tx)
    })
  })
}

/** The name under which both sides know what has moved. */
function nameOf(movement: ProviderMovement): string {
  const id = subjectOfMovement(movement) ?? ''
  return movement.kind === 'capture' ? seenCapture(id) : seenRefund(id)
}

function namesToNote(movement: ProviderMovement): string[] {
  return subjectOfMovement(movement) === null
    ? [movement.movementId]
    : [movement.movementId, nameOf(movement)]
}

function idsIn({ providerPaymentId, providerRefundId }: ProviderMovement): string[] {
  return [providerPaymentId, providerRefundId].filter((id) => id !== null)
}

function differencesIn(verdicts: readonly Verdict[]): Difference[] {
  const differences = verdicts.flatMap((verdict) =>
    verdict.verdict === 'differs' ? verdict.differences : [],
  )
  // One that is repeated and of another amount, too, is one finding.
  const byFinding = new Map(differences.map((found) => [`${found.kind} ${found.objectId}`, found]))
  return [...byFinding.values()]
}

/** Movements that are new to the run, of what was seen to move before, on this page or an earlier one. */
function repeatedIn(page: Page, noted: ReadonlySet<string>): ProviderMovement[] {
  const moved = new Set<string>()
  return page.filter((movement) => {
    const name = nameOf(movement)
    const isNew = noted.has(movement.movementId) && subjectOfMovement(movement) !== null
    const isFirst = noted.has(name) && !moved.has(name)
    moved.add(name)
    return isNew && !isFirst
  })
}

type BookedOf = (movement: ProviderMovement) => LedgerMovement | undefined

/**
 * What is booked of each movement: of the payment or refund that names what has moved, or else of the
 * one that is named by it, which does not know of the provider's while it is in motion.
 */
async function findBooked({ parts, run }: Comparison, page: Page): Promise<BookedOf> {
  const { sql } = parts.store
  const wanted = (kind: ProviderMovement['kind']) =>
    page.filter((movement) => movement.kind === kind).flatMap(wantedFor)
  const payments = await findPaymentsOf(sql, run.provider, wanted('capture'))
  const refunds = await findRefundsOf(sql, run.provider, wanted('refund'))
  const booked = [
    ...(await findLedgerCaptures(sql, payments)),
    ...(await findLedgerRefunds(sql, refunds)),
  ]
  const naming = new Map(booked.map((entry) => [nameOfBooked(entry), entry]))
  const named = new Map(booked.map((entry) => [entry.refundId ?? entry.paymentId, entry]))
  return (movement) => naming.get(nameOf(movement)) ?? named.get(ourIdIn(movement) ?? '')
}

function nameOfBooked({ objectId, refundId }: LedgerMovement): string | null {
  if (objectId === null) return null
  return refundId === null ? seenCapture(objectId) : seenRefund(objectId)
}

/** Which payment or refund of ours the provider's record names. */
function ourIdIn({ kind, correlation }: ProviderMovement): string | null {
  if (correlation === null) return null
  return kind === 'capture' ? correlation.paymentId : correlation.refundId
}

function wantedFor(movement: ProviderMovement): ComparedId[] {
  const objectId = subjectOfMovement(movement)
  const [id, tenantId] = [ourIdIn(movement), movement.correlation?.tenantId]
  if (objectId === null) return []
  return [{ objectId, named: id === null || tenantId === undefined ? null : { tenantId, id } }]
}

/** Holds what was booked in the window, and that no page had, against the provider's movements. */
export async function compareUnseenBookings(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const { sql } = parts.store
  for await (const page of walkMissingLedgerMovements(sql, run)) {
    const causes = await findReported(
      sql,
      run,
      page.map(({ objectId }) => objectId),
    )
    const unexplained = page.filter(({ objectId }) => !causes.has(objectId))
    if (unexplained.length === 0) continue
    const moved = await noteMovementsOf(comparison, unexplained)
    const missing = unexplained.filter((booked) => !moved.has(bookedName(booked)))
    await report(comparison, differencesIn(missing.map(missingMovement)))
  }
}

function bookedName({ kind, objectId }: LedgerTransactionMovement): string {
  return kind === 'capture' ? seenCapture(objectId) : seenRefund(objectId)
}

/** The clocks of the provider and of our database may be off by that much. */
const CLOCKS_APART_MS = 60 * 60 * 1_000

/**
 * Notes, and returns the names of, the movements of all the time in which these can have been made: what
 * was asked for on one day can move on another, and what has moved can be learned and booked later still.
 */
async function noteMovementsOf(
  comparison: Comparison,
  booked: readonly LedgerTransactionMovement[],
): Promise<Set<string>> {
  const { parts, run, signal } = comparison
  const { sql } = parts.store
  const names = new Set(booked.map(bookedName))
  // What is noted can be forgotten meanwhile, by another who carries out the same run and has ended.
  const found = new Set<string>()
  const window = {
    from: new Date(Math.min(...booked.map(({ askedAt }) => askedAt.getTime())) - CLOCKS_APART_MS),
    to: new Date(Math.max(...booked.map(({ createdAt }) => createdAt.getTime())) + CLOCKS_APART_MS),
  }
  for await (const page of parts.provider.listMovements(window, logRepeats(comparison))) {
    signal.throwIfAborted()
    // One of each name, under its own id as well: to a later try of this run it is no second movement,
    // and another one still is.
    const moved = new Map(page.map((movement) => [nameOf(movement), movement]))
    const named = [...moved.keys()].filter((name) => names.has(name))
    for (const name of named) found.add(name)
    const unseen = new Set(await notComparedAmong(sql, run.id, named))
    const firsts = [...moved].flatMap(([name, first]) => (unseen.has(name) ? [first] : []))
    await recordCompared(sql, run.id, firsts.flatMap(namesToNote))
  }
  return found
}
