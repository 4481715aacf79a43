// `atomic replay`: sends the failed webhooks of an endpoint again.
import { unwrap } from '../../client/errors.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../errors.ts'
import { formatTime } from '../format.ts'

export const replay: Command = async ({ client, output, subject: id, options }) => {
  const body = { since: readTime(options.since) }
  const params = { path: { id } }
  const answer = unwrap(await client.POST('/admin/webhook-endpoints/{id}/replay', { params, body }))
  if (output.isJson) return output.json(answer)
  const more = answer.has_more ? ' There may be more: run it again.' : ''
  output.lines([
    `${answer.endpoint} of ${answer.tenant}: ${answer.deliveries} deliveries since ${formatTime(answer.since)} are pending again.${more}`,
  ])
}

/** A time without its zone would mean another moment on each machine. */
function readTime(text: string | undefined): string {
  const isWhole = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text ?? '')
  const time = new Date(text ?? '')
  if (!isWhole || Number.isNaN(time.getTime())) {
    throw new UsageError('replay needs --since with a time such as 2026-01-31T12:00:00Z')
  }
  return time.toISOString()
}
