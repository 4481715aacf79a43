// Compares the movements on the provider's balance with the ledger, one to one. A difference that
// was already reported for the payment, refund or dispute explains its movement, which is not
// reported again.
import {
  type LedgerTransactionMovement,
  type LedgerMovement,
  findLedgerCaptures,
  findLedgerDisputes,
  findLedgerRefunds,
} from '../db/ledger/ledger-movements.ts'
import { findReported } from '../db/reconciliation/findings.ts'
import {
  recordCompared,
  seenMovement,
  notComparedAmong,
} from '../db/reconciliation/reconciliation-runs.ts'
import { walkMissingLedgerMovements } from '../db/reconciliation/missing-records.ts'
import { disputeRecords } from './compare-disputes.ts'
import { compareObject } from './compare-records.ts'
import { refundRecords } from './compare-refunds.ts'
import { inService } from '../db/connection/transaction.ts'
import type {
  OtherMovement,
  PaymentProvider,
  ProviderMovement,
} from '../provider/payment-provider.ts'
import {
  eachPage,
  logRepeats,
  withRetries,
  report,
  requestCheck,
  throwIfEnded,
  untilStopped,
  type Comparison,
  nameTenants,
} from './comparison.ts'
import {
  judgeMovement,
  missingMovement,
  repeatedMovement,
  subjectOfMovement,
  unknownMovement,
} from './judge-movement.ts'
import type { Difference, Verdict } from './verdict.ts'
import { insertProviderFeesIfNew, type NewProviderFee } from '../db/ledger/ledger.ts'
import { postingOfProviderFee } from '../domain/ledger/ledger.ts'
import {
  findPaymentsOf,
  type ComparedId,
  findDisputesOf,
  findRefundsOf,
} from '../db/reconciliation/compared-records.ts'

type Page = readonly ProviderMovement[]

/** Compares every movement of the window with the ledger, and posts the fees of those that agree. */
export async function compareMovements(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const list: PaymentProvider['listMovements'] = (...args) => parts.provider.listMovements(...args)
  await eachPage(comparison, 'movements', list, async (listed) => {
    await compareOtherMovements(comparison, listed.filter(isOther))
    const page = listed.filter(isOfPayment)
    const ledgerMovementOf = await findLedgerMovements(comparison, page)
    const verdicts = page.map((movement) => judgeMovement(ledgerMovementOf(movement), movement))
    for (const [index, movement] of untilStopped(comparison, page.entries())) {
      const ours = ledgerMovementOf(movement)
      if (verdicts[index]?.verdict === 'unknown' && ours) await requestCheck(comparison, ours)
      if (verdicts[index]?.verdict === 'in_motion') comparison.counts.in_motion += 1
      if (verdicts[index]?.verdict === 'moved_on') {
        await followMovement(comparison, movement)
      }
    }
    const agreed = page.filter((_, index) => verdicts[index]?.verdict === 'agrees')
    await postProviderFees(
      comparison,
      agreed.map((movement) => ({ movement, ours: ledgerMovementOf(movement) })),
    )
    // Repetitions are detected by the recorded names, so both are part of one transaction.
    await inService(parts.store.sql, async (tx) => {
      const newNames = await recordCompared(tx, run.id, page.flatMap(namesToRecord))
      const repeated = repeatedIn(page, newNames).map((movement) =>
        repeatedMovement(ledgerMovementOf(movement), movement),
      )
      const differences = differencesIn([...verdicts, ...repeated])
      const reportedIds = await findReported(tx, run, page.flatMap(idsIn))
      const idsOf = new Map(page.map((movement) => [movement.movementId, idsIn(movement)]))
      const unexplained = differences.filter(
        ({ objectId }) => !idsOf.get(objectId)?.some((id) => reportedIds.has(id)),
      )
      await report(comparison, unexplained, tx)
    })
  })
}

const isOther = (movement: ProviderMovement | OtherMovement): movement is OtherMovement =>
  movement.kind === 'account' || movement.kind === 'unknown'
const isOfPayment = (movement: ProviderMovement | OtherMovement): movement is ProviderMovement =>
  !isOther(movement)

/** Compares what the movement moved: it has moved on, and is not posted yet. */
async function followMovement(
  comparison: Comparison,
  { providerRefundId, providerDisputeId }: ProviderMovement,
): Promise<void> {
  if (providerDisputeId !== null) await compareObject(comparison, disputeRecords, providerDisputeId)
  else await compareObject(comparison, refundRecords, providerRefundId ?? '')
}

function namesToRecord(movement: ProviderMovement): string[] {
  return subjectOfMovement(movement) === null
    ? [movement.movementId]
    : [movement.movementId, nameOf(movement)]
}

function idsIn(movement: ProviderMovement): string[] {
  const { providerPaymentId, providerRefundId, providerDisputeId } = movement
  return [providerPaymentId, providerRefundId, providerDisputeId].filter((id) => id !== null)
}

function differencesIn(verdicts: readonly Verdict[]): Difference[] {
  const differences = verdicts.flatMap((verdict) =>
    verdict.verdict === 'differs' ? verdict.differences : [],
  )
  // A movement that is repeated and also has a different amount is one finding.
  const byFinding = new Map(
    differences.map((difference) => [`${difference.kind} ${difference.objectId}`, difference]),
  )
  return [...byFinding.values()]
}

/**
 * Movements that are new to the run, but whose name already moved, on this page or an earlier one.
 */
function repeatedIn(page: Page, newNames: ReadonlySet<string>): ProviderMovement[] {
  const movedNames = new Set<string>()
  return page.filter((movement) => {
    const name = nameOf(movement)
    const isNew = newNames.has(movement.movementId) && subjectOfMovement(movement) !== null
    const isFirst = newNames.has(name) && !movedNames.has(name)
    movedNames.add(name)
    return isNew && !isFirst
  })
}

/** Compares ledger movements of the window that no page contained with the provider's. */
export async function compareUnseenLedgerMovements(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const { sql } = parts.store
  for await (const page of walkMissingLedgerMovements(sql, run)) {
    await throwIfEnded(comparison)
    const reportedIds = await findReported(
      sql,
      run,
      page.map(({ objectId }) => objectId),
    )
    const unexplained = page.filter(({ objectId }) => !reportedIds.has(objectId))
    const ofDisputes = unexplained.filter(isOfDispute)
    const others = unexplained.filter((ours) => !isOfDispute(ours))
    const missing = [
      ...(await missingOfDisputes(comparison, ofDisputes)),
      ...(await missingInLists(comparison, others)),
    ]
    await report(comparison, differencesIn(missing.map(missingMovement)))
  }
}

const isOfDispute = ({ kind }: LedgerTransactionMovement) =>
  kind === 'dispute' || kind === 'dispute_reversal'

/** A dispute names its movements itself, and a list of them could begin months ago. */
async function missingOfDisputes(
  comparison: Comparison,
  ours: readonly LedgerTransactionMovement[],
): Promise<LedgerTransactionMovement[]> {
  const missing: LedgerTransactionMovement[] = []
  for (const movement of untilStopped(comparison, ours)) {
    const theirs = await withRetries(comparison, () =>
      comparison.parts.provider.readDispute(movement.objectId),
    )
    // Its standing cannot be read, which the comparison of disputes has reported.
    if (theirs !== undefined && theirs.standing === undefined) continue
    const { withdrawnMinor = 0, reinstatedMinor = 0 } = theirs?.standing ?? {}
    const movedMinor = movement.kind === 'dispute' ? withdrawnMinor : reinstatedMinor
    if (movedMinor < movement.amountMinor) missing.push(movement)
  }
  return missing
}

async function missingInLists(
  comparison: Comparison,
  ours: readonly LedgerTransactionMovement[],
): Promise<readonly LedgerTransactionMovement[]> {
  if (ours.length === 0) return []
  const movedNames = await recordMovementsOf(comparison, ours)
  return ours.filter((movement) => !movedNames.has(nameOfTransaction(movement)))
}

function nameOfTransaction({ kind, objectId }: LedgerTransactionMovement): string {
  return seenMovement(kind, objectId)
}

/** Only the fee of a movement that agrees is posted. */
function agrees(pair: {
  readonly movement: ProviderMovement
  readonly ours: LedgerTransactionMovement | undefined
}): boolean {
  const { movement, ours } = pair
  return movement.amountMinor === ours?.amountMinor && movement.currency === ours.currency
}

/** The clocks of the provider and of our database may differ by this much. */
const CLOCKS_APART_MS = 60 * 60 * 1_000

/**
 * Finds the provider's movements of these ledger movements, records them as compared, and returns
 * their names. It searches the whole time in which they can have happened: money requested on one
 * day can move on another, and the service can learn of it and post it even later.
 */
async function recordMovementsOf(
  comparison: Comparison,
  ours: readonly LedgerTransactionMovement[],
): Promise<Set<string>> {
  const { parts, run, signal } = comparison
  const { sql } = parts.store
  const byOurName = new Map(ours.map((movement) => [nameOfTransaction(movement), movement]))
  // Not read from the recorded names: another worker that completes the same run deletes those.
  const movedNames = new Set<string>()
  const window = {
    from: new Date(
      Math.min(...ours.map(({ requestedAt }) => requestedAt.getTime())) - CLOCKS_APART_MS,
    ),
    to: new Date(Math.max(...ours.map(({ createdAt }) => createdAt.getTime())) + CLOCKS_APART_MS),
  }
  for await (const listed of parts.provider.listMovements(window, logRepeats(comparison))) {
    signal.throwIfAborted()
    const page = listed.filter(isOfPayment)
    // One movement per name is recorded under its own id as well. So a later try of this run does
    // not take it for a repetition, but still recognizes another movement as one.
    const byName = new Map(page.map((movement) => [nameOf(movement), movement]))
    const namesOnPage = [...byName.keys()].filter((name) => byOurName.has(name))
    for (const name of namesOnPage) movedNames.add(name)
    const unseen = new Set(await notComparedAmong(sql, run.id, namesOnPage))
    const firsts = [...byName].flatMap(([name, first]) => (unseen.has(name) ? [first] : []))
    await recordCompared(sql, run.id, firsts.flatMap(namesToRecord))
    const pairs = firsts.map((movement) => ({ movement, ours: byOurName.get(nameOf(movement)) }))
    await postProviderFees(comparison, pairs.filter(agrees))
  }
  return movedNames
}

/** A movement of the provider, and the one in the ledger to which it belongs. */
interface Pair {
  readonly movement: ProviderMovement
  readonly ours: Pick<LedgerMovement, 'kind' | 'tenantId' | 'paymentId' | 'refundId'> | undefined
}

/**
 * Posts the provider's fee of each movement once, however often it is compared. Only the provider's balance
 * tells the fees: the answer to a capture has none, and even the movement of an asynchronous capture can be
 * missing for an hour.
 */
async function postProviderFees(
  { parts, counts }: Comparison,
  pairs: readonly Pair[],
): Promise<void> {
  const fees = pairs.flatMap(feeOf)
  counts.fees += await insertProviderFeesIfNew(parts.store.sql, fees)
}

function feeOf({ movement: { fee, providerDisputeId }, ours }: Pair): NewProviderFee[] {
  const posting = postingOfProviderFee(fee.amountMinor)
  // `dispute.follow` posts the fee of a dispute, with what the dispute moves.
  if (ours === undefined || posting === undefined || providerDisputeId !== null) return []
  const { kind, tenantId, paymentId, refundId } = ours
  return [{ of: kind, tenantId, paymentId, refundId, currency: fee.currency, posting }]
}

/** Movements that are neither a capture nor a refund: counts those of the account, and reports every other one. */
async function compareOtherMovements(
  comparison: Comparison,
  page: readonly OtherMovement[],
): Promise<void> {
  const { parts, run, counts } = comparison
  const unknown = page.filter(({ kind }) => kind === 'unknown')
  counts.account_movements += page.length - unknown.length
  const payments = await findPaymentsOf(
    parts.store.sql,
    run.provider,
    unknown.flatMap(comparedIdOf),
  )
  const byProviderId = new Map(payments.map((payment) => [payment.providerPaymentId, payment]))
  const missing = unknown.map((theirs) => ({
    theirs,
    difference: unknownMovement(theirs, byProviderId.get(theirs.providerPaymentId)),
  }))
  await report(comparison, await nameTenants(comparison, missing))
}

function comparedIdOf({ providerPaymentId }: OtherMovement): ComparedId[] {
  return providerPaymentId === null ? [] : [{ objectId: providerPaymentId, named: null }]
}

/** The name of the movement by what it moved, which both sides know. */
function nameOf(movement: ProviderMovement): string {
  return seenMovement(movement.kind, subjectOfMovement(movement) ?? '')
}

type LedgerMovementOf = (movement: ProviderMovement) => LedgerMovement | undefined

/**
 * Finds the ledger movement of each movement: that of our payment or refund that names the
 * provider's object. If there is none, that of the one which the provider's object names: while an
 * operation is working on it, ours does not know the provider's id yet.
 */
async function findLedgerMovements(
  { parts, run }: Comparison,
  page: readonly ProviderMovement[],
): Promise<LedgerMovementOf> {
  const { sql } = parts.store
  const idsOfKind = (kind: ProviderMovement['kind']) =>
    page.filter((movement) => movement.kind === kind).flatMap(objectsOf)
  const payments = await findPaymentsOf(sql, run.provider, idsOfKind('capture'))
  const refunds = await findRefundsOf(sql, run.provider, idsOfKind('refund'))
  const failed = await findRefundsOf(sql, run.provider, idsOfKind('refund_failure'))
  const disputes = await findDisputesOf(sql, run.provider, page.flatMap(disputeIdOf))
  const ledgerMovements = [
    ...(await findLedgerCaptures(sql, payments)),
    ...(await findLedgerRefunds(sql, refunds, 'refund')),
    ...(await findLedgerRefunds(sql, failed, 'refund_failure')),
    ...(await findLedgerDisputes(sql, disputes)),
  ]
  const byName = new Map(ledgerMovements.map((entry) => [nameOfOurs(entry), entry]))
  const byOurId = new Map(
    ledgerMovements.map((entry) => [
      seenMovement(entry.kind, entry.disputeId ?? entry.refundId ?? entry.paymentId),
      entry,
    ]),
  )
  return (movement) =>
    byName.get(nameOf(movement)) ??
    byOurId.get(seenMovement(movement.kind, ourIdIn(movement) ?? ''))
}

function disputeIdOf({ providerDisputeId }: ProviderMovement): string[] {
  return providerDisputeId === null ? [] : [providerDisputeId]
}

function nameOfOurs({ kind, objectId }: LedgerMovement): string | null {
  return objectId === null ? null : seenMovement(kind, objectId)
}

/** The payment or refund of ours that the provider's record names. */
function ourIdIn({ kind, correlation }: ProviderMovement): string | null {
  if (correlation === null) return null
  return kind === 'capture' ? correlation.paymentId : correlation.refundId
}

function objectsOf(movement: ProviderMovement): ComparedId[] {
  const objectId = subjectOfMovement(movement)
  const [id, tenantId] = [ourIdIn(movement), movement.correlation?.tenantId]
  if (objectId === null) return []
  return [{ objectId, named: id === null || tenantId === undefined ? null : { tenantId, id } }]
}
