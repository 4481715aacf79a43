// GET /: leads a person with a browser to the pages of the service. For any other client the path
// does not exist.
import { open } from '../server/route.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { OpenEndpoint } from '../endpoint.ts'
import { pageHeaders, VARY, html } from './docs.ts'

const CONSOLE =
  '<a href="/console">The console</a>: watch payments move, and resolve what no machine can.'

const NO_CONSOLE =
  'The console is switched off. <code>CONSOLE=on</code> and <code>ADMIN_API_KEY</code> switch it on.'

/** For other clients it does not exist, with any method. */
export const START_PATH = '/'

const getStart: OpenEndpoint = async ({ settings }, request) => {
  // A client without an Accept header is not a browser.
  if (request.accepts(['json', 'html']) !== 'html') {
    throw new ProblemError('route-not-found', { headers: VARY })
  }
  return { status: 200, headers: pageHeaders, body: renderPage(settings.CONSOLE === 'on') }
}

const renderPage = (hasConsole: boolean): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Atomic Payments</title>
<h1>Atomic Payments</h1>
<p>A payments API that never charges twice.</p>
<ul>
<li>${hasConsole ? CONSOLE : NO_CONSOLE}</li>
<li><a href="/docs">The API reference</a>, made from <a href="/openapi.yaml">openapi.yaml</a>.</li>
<li>Each problem that the API answers with has a page, such as <a
href="/problems/idempotency-key-reused">idempotency-key-reused</a>.</li>
<li><code>README.md</code>, where you got this service, says what it guarantees and how to run it.</li>
</ul>
</html>
`

export const startEndpoints: Endpoints = {
  'GET /': {
    serve: open(getStart),
    operationId: 'getStart',
    tag: 'Service',
    summary: 'Find the pages of the service',
    description:
      'Returns an HTML page for browsers with links to the console and to this document. Other clients get the problem of a path that does not exist.',
    answers: { 200: { description: 'The page.', texts: html } },
    problems: ['route-not-found'],
  },
}
