// `atomic unknown`: the operations with an unknown outcome.
import type { Command, Operation } from '../command.ts'
import { between, formatTime } from '../format.ts'
import { listOperations } from '../operations.ts'

const LIMIT = 1_000

export const unknown: Command = async ({ client, output, options: { tenant } }) => {
  const filter = { status: 'unknown', ...(tenant === undefined ? {} : { tenant }) } as const
  const { operations, hasMore } = await listOperations(client, filter, LIMIT)
  if (output.isJson) {
    output.json({ object: 'list', data: operations, has_more: hasMore })
    return
  }
  const now = new Date()
  output.lines(operations.flatMap((operation) => [...show(operation, now), '']))
  const more = hasMore ? '; there are more' : ''
  output.lines([`${operations.length} with an unknown outcome${more}`])
}

function show(operation: Operation, now: Date): string[] {
  const { unknown_at: since, next_check_at: next, finding } = operation
  return [
    `${operation.id}  ${operation.operation}  tenant ${operation.tenant}`,
    `  payment ${operation.payment ?? 'none'}, idempotency key ${operation.idempotency_key ?? 'none'}`,
    ...(since === null ? [] : [`  unknown for ${between(since, now)}, since ${formatTime(since)}`]),
    next === null
      ? '  the service no longer looks it up by itself'
      : `  next look ${formatTime(next)}`,
    `  resume would ${operation.resume_would}: ${operation.resume_effect}`,
    ...(finding === null ? [] : [`  open finding ${finding.id}: ${finding.kind}`]),
  ]
}
