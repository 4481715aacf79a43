// GET /problems/:type: explains a problem type, as a page for browsers and as JSON for other
// clients.
import { open, type OpenEndpoint } from '../endpoint.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { statusIn } from '../../domain/problems/flavor.ts'
import { problems, type ProblemType } from '../../domain/problems/problems.ts'
import { showJson } from '../responses/answer.ts'
import { pageHeaders, VARY, html } from './docs.ts'
import { markdown } from './docs-page.ts'

const problemPageSchema = z
  .object({
    type: z.string().meta({ description: 'The `type` of the problem.' }),
    title: z.string().meta({ description: 'A short summary of the problem.' }),
    status: z.int().meta({ description: 'The HTTP status of the problem.' }),
    meaning: z.string().meta({ description: 'What happened, and what to do next.' }),
  })
  .meta({
    id: 'ProblemMeaning',
    examples: [
      {
        type: '/problems/route-not-found',
        title: problems['route-not-found'].title,
        status: 404,
        meaning: problems['route-not-found'].meaning,
      },
    ],
  })

const getProblem: OpenEndpoint = async ({ settings }, request) => {
  const type = String(request.params['type']) as ProblemType
  if (!Object.hasOwn(problems, type)) throw new ProblemError('resource-not-found')
  const { title, meaning } = problems[type]
  const status = statusIn(settings.IDEMPOTENCY_FLAVOR, type)
  // A client without an Accept header is not a browser and gets JSON.
  if (request.accepts(['json', 'html']) !== 'html') {
    const answer = showJson({ type: `/problems/${type}`, title, status, meaning })
    return { ...answer, headers: { ...answer.headers, ...VARY } }
  }
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title} - Atomic Payments</title>
<h1>${title}</h1>
<p>Problem type <code>${type}</code>, status ${status}.</p>
<p>${markdown(meaning)}</p>
<p>See <a href="/docs">the API reference</a> for all problem types.</p>
</html>
`
  return { status: 200, headers: pageHeaders, body }
}

export const problemEndpoints: Endpoints = {
  'GET /problems/:type': {
    serve: open(getProblem),
    operationId: 'getProblem',
    tag: 'Service',
    summary: 'Retrieve a problem type',
    description:
      'Explains a problem: what happened, and what to do next. The `type` of every problem is the path of this endpoint. Browsers get an HTML page, other clients get JSON.',
    path: z.object({
      type: z
        .string()
        .meta({ description: 'The name of the problem type.', examples: ['payment-declined'] }),
    }),
    answers: {
      200: {
        description: 'The explanation of the problem type.',
        schema: problemPageSchema,
        texts: html,
      },
    },
  },
}
