// `atomic tail`: prints payments and their operations as they begin, change and end. It looks once a
// second, compares with its last look, and prints each difference once.
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, NoAnswerError } from '../../client/errors.ts'
import type { Call, Command, Operation, PaymentOverview } from '../command.ts'
import { formatAmount, formatTime } from '../format.ts'
import { getOperation, listOperations, listPaymentsUntil } from '../operations.ts'

const POLL_MS = 1_000
const LIMIT = 1_000
/** Of operations that are not in the list, in one look. */
const LOOK_UPS = 100
/** Operations to remember. When more end than can be looked up, the ends of the oldest are not shown. */
const REMEMBERED = 5_000

type Change = 'unfinished' | 'began' | 'changed' | 'ended'

interface Known {
  /** The operations that are not completed, by id. Undefined when there is no line of it yet. */
  readonly operations: Map<string, Operation | undefined>
  /** The ids of the payments that the last look read. Undefined before the first look. */
  payments?: ReadonlySet<string>
}

export const tail: Command = async (call) => {
  const stop = new AbortController()
  // npm passes on the Ctrl-C that the terminal also sends.
  process.on('SIGINT', () => stop.abort()).on('SIGTERM', () => stop.abort())
  try {
    await watch(call, stop.signal)
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
}

async function watch(call: Call, signal: AbortSignal): Promise<void> {
  const known: Known = { operations: new Map() }
  await look(call, known, 'unfinished', signal)
  let isLost = false
  for (;;) {
    await pause(POLL_MS, undefined, { signal })
    try {
      await look(call, known, 'began', signal)
      isLost = false
    } catch (error) {
      if (signal.aborted || !mayPass(error)) throw error
      if (!isLost) call.output.note('The service does not answer. Trying again every second.')
      isLost = true
    }
  }
}

/** Whether the service may answer again: it restarts, or has too much to do. */
function mayPass(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.status === 429
  return error instanceof NoAnswerError
}

async function look(call: Call, known: Known, first: Change, signal: AbortSignal): Promise<void> {
  const filter = filterOf(call)
  // Before the operations: a payment that begins in between is in the next look.
  await lookAtPayments(call, known, signal)
  const { operations } = await listOperations(call.client, filter, LIMIT, signal)
  const missing = new Set(known.operations.keys())
  for (const operation of operations.toReversed()) {
    missing.delete(operation.id)
    tell(call, known, operation, first)
  }
  for (const id of [...missing].slice(0, LOOK_UPS)) {
    const operation = await findOperation(call, id, signal)
    if (operation === undefined) known.operations.delete(id)
    else tell(call, known, operation, first)
  }
  for (const id of [...known.operations.keys()].slice(0, -REMEMBERED)) known.operations.delete(id)
}

const filterOf = ({ options: { tenant } }: Call) => (tenant === undefined ? {} : { tenant })

/** Prints payments that began and ended since the last look, and remembers those in progress. */
async function lookAtPayments(call: Call, known: Known, signal: AbortSignal): Promise<void> {
  const { client, output } = call
  const seen = known.payments
  const { payments, hasMore } = await listPaymentsUntil(client, filterOf(call), seen, signal)
  const inProgress = new Set([...known.operations.values()].map((operation) => operation?.payment))
  for (const payment of payments.toReversed()) {
    const { id, operation } = payment
    if (seen === undefined || seen.has(id) || inProgress.has(id)) continue
    if (operation !== null) known.operations.set(operation.id, undefined)
    else if (output.isJson) output.json({ object: 'payment_change', change: 'ended', payment })
    else output.lines([lineOfPayment(payment)])
  }
  known.payments = new Set(payments.map(({ id }) => id))
  if (hasMore) output.note(`Only the newest ${payments.length} payments of this look are shown.`)
}

/** Returns undefined for an operation whose key has expired since. */
async function findOperation({ client }: Call, id: string, signal: AbortSignal) {
  try {
    const { timeline: _, resolution: __, ...operation } = await getOperation(client, id, signal)
    return operation
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

function tell({ output }: Call, { operations }: Known, operation: Operation, first: Change): void {
  const change = changeOf(operations.get(operation.id), operation, first)
  // Last in the order of the map, so that each missing operation has its turn.
  operations.delete(operation.id)
  if (operation.status !== 'completed') operations.set(operation.id, operation)
  if (change === undefined) return
  if (output.isJson) output.json({ object: 'operation_change', change, operation })
  else output.lines([lineOf(change, operation)])
}

function changeOf(before: Operation | undefined, now: Operation, first: Change) {
  if (now.status === 'completed') return 'ended'
  if (before === undefined) return first
  return stateOf(before) === stateOf(now) ? undefined : 'changed'
}

function stateOf(operation: Operation): string {
  const { status, recovery_point: point, attempts, lease_epoch: epoch } = operation
  return JSON.stringify([status, point, attempts, epoch, operation.last_error])
}

function lineOf(change: Change, operation: Operation): string {
  const { id, payment, idempotency_key: key, last_error: error } = operation
  const ends = [key === null ? '' : `  key ${key}`, error === null ? '' : `  error ${error}`]
  return `${begin(change, payment)}  ${operation.operation}  ${operation.status}  at ${operation.recovery_point}  lease epoch ${operation.lease_epoch}  ${id}  ${operation.tenant}${ends.join('')}`
}

function lineOfPayment({ id, status, amount, currency, tenant }: PaymentOverview): string {
  return `${begin('ended', id)}  ${status}  ${formatAmount(amount, currency)}  ${tenant}`
}

const begin = (change: Change, payment: string | null) =>
  `${formatTime(new Date())}  ${change.padEnd(10)}  ${payment ?? 'no payment'}`
