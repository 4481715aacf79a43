// GET /problems/:type: the page that the `type` of a problem points to.
import { ProblemError } from '../domain/errors.ts'
import { problems, type ProblemType } from '../domain/problems.ts'
import type { OpenEndpoint } from './endpoint.ts'

export const getProblem: OpenEndpoint = async (_parts, request) => {
  const type = String(request.params['type'])
  if (!isProblemType(type)) throw new ProblemError('resource-not-found')
  const { status, title, meaning } = problems[type]
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title} - Atomic Payments</title>
<h1>${title}</h1>
<p>Problem type <code>${type}</code>, status ${status}.</p>
<p>${meaning}</p>
</html>
`
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body }
}

function isProblemType(type: string): type is ProblemType {
  return Object.hasOwn(problems, type)
}
