// `atomic resume`: resumes an operation that has stopped.
import { unwrap } from '../../client/errors.ts'
import type { Command } from '../command.ts'
import { whatNext } from '../next.ts'

export const resume: Command = async ({ client, output, subject: id }) => {
  const answer = await client.POST('/admin/operations/{id}/resume', { params: { path: { id } } })
  const operation = unwrap(answer)
  if (output.isJson) output.json(operation)
  else output.lines([`${operation.id} is resumed: ${operation.status}`, whatNext(operation)])
}
