// `atomic tail`: prints operations as they begin, change and end. It looks once a second, compares
// with its last look, and prints each difference once.
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, NoAnswerError } from '../../client/errors.ts'
import type { Call, Command, Operation } from '../command.ts'
import { formatTime } from '../format.ts'
import { getOperation, listOperations } from '../operations.ts'

const POLL_MS = 1_000
const LIMIT = 1_000
/** Of operations that are in the list no more, in one look. */
const LOOK_UPS = 100

type Change = 'unfinished' | 'began' | 'changed' | 'ended'

/** What is known from the last look, by the id of each operation that is not completed. */
type Known = Map<string, Operation>

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
  const known: Known = new Map()
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
  const { client, options } = call
  const filter = options.tenant === undefined ? {} : { tenant: options.tenant }
  const { operations } = await listOperations(client, filter, LIMIT, signal)
  const missing = new Set(known.keys())
  for (const operation of operations.toReversed()) {
    missing.delete(operation.id)
    tell(call, known, operation, first)
  }
  for (const id of [...missing].slice(0, LOOK_UPS)) {
    const operation = await findOperation(call, id, signal)
    if (operation === undefined) known.delete(id)
    else tell(call, known, operation, first)
  }
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

function tell({ output }: Call, known: Known, operation: Operation, first: Change): void {
  const change = changeOf(known.get(operation.id), operation, first)
  // Last in the order of the map, so that each missing operation has its turn.
  known.delete(operation.id)
  if (operation.status !== 'completed') known.set(operation.id, operation)
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
  const {
    status,
    recovery_point: point,
    attempts,
    lease_epoch: epoch,
    last_error: error,
  } = operation
  return JSON.stringify([status, point, attempts, epoch, error])
}

function lineOf(change: Change, operation: Operation): string {
  const {
    id,
    tenant,
    status,
    recovery_point: point,
    lease_epoch: epoch,
    last_error: error,
  } = operation
  const key = operation.idempotency_key === null ? '' : `  key ${operation.idempotency_key}`
  const failure = error === null ? '' : `  error ${error}`
  return `${formatTime(new Date())}  ${change.padEnd(10)}  ${id}  ${operation.operation}  ${status}  at ${point}  lease epoch ${epoch}  ${operation.payment ?? ''}  ${tenant}${key}${failure}`
}
