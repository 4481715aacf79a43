// `atomic resolve`: states what happened to an operation with an unknown outcome.
import { unwrap } from '../../client/errors.ts'
import type { components } from '../../client/operators-schema.ts'
import type { Command, Options } from '../command.ts'
import { UsageError } from '../errors.ts'
import { claimLines, consequenceLines } from '../waterfall.ts'

export const resolve: Command = async ({ client, output, subject: id, options }) => {
  const body = claimOf(options)
  const params = { path: { id } }
  const answer = unwrap(await client.POST('/admin/operations/{id}/resolve', { params, body }))
  if (output.isJson) return output.json(answer)
  if (answer.object === 'resolution_proposal') {
    return output.lines([
      `${answer.operation}: ${answer.proposed_by} proposed ${JSON.stringify(answer.proposed)}`,
      answer.needed,
      ...consequenceLines(answer.consequences),
    ])
  }
  const { resolution } = answer
  output.lines([
    `${answer.id}  ${answer.operation}  ${answer.status}`,
    ...(resolution === null ? [] : claimLines(resolution)),
  ])
}

function claimOf(options: Options): components['schemas']['ResolveOperation'] {
  const { 'provider-id': providerId, 'did-not-happen': proof, note, unverified } = options
  if (providerId !== undefined && proof === undefined) {
    if (unverified === true) throw new UsageError('--unverified goes with --did-not-happen')
    return {
      outcome: 'happened',
      provider_id: providerId,
      note: note ?? 'By npm run atomic, without a note.',
    }
  }
  if (proof === undefined || providerId !== undefined) {
    throw new UsageError('resolve takes either --provider-id or --did-not-happen')
  }
  if (note !== undefined) throw new UsageError('--note goes with --provider-id')
  return { outcome: 'did_not_happen', proof, ...(unverified === true ? { unverified } : {}) }
}
