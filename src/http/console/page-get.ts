// GET /console: the one HTML page of the console. Its scripts find the view in the hash of the URL. The
// page says whether there is a session, so that its script asks for none that is refused.
import type { Request } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ApiParts, OpenEndpoint } from '../endpoint.ts'
import { pagePolicy } from './files-get.ts'
import { authenticateSession } from './session-authenticate.ts'

const pageWith = (session: 'open' | 'none') => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Atomic Payments console</title>
<link rel="icon" href="/console/app/icon.svg">
<link rel="stylesheet" href="/console/packages/uplot.css">
<link rel="stylesheet" href="/console/app/style.css">
<script type="module" src="/console/app/main.js"></script>
<body>
<div id="console" data-session="${session}"></div>
<noscript>The console needs JavaScript. The same requests are in <a href="/docs">the API
reference</a>.</noscript>
</html>
`

export const getConsole: OpenEndpoint = async (parts, request) => ({
  status: 200,
  headers: { ...pagePolicy, 'content-type': 'text/html; charset=utf-8' },
  body: pageWith((await hasSession(parts, request)) ? 'open' : 'none'),
})

/** Without a database the page opens, too, and says then what is wrong. */
async function hasSession(parts: ApiParts, request: Request): Promise<boolean> {
  try {
    await authenticateSession(parts, request)
    return true
  } catch (error) {
    return !(error instanceof ProblemError && error.type === 'session-ended')
  }
}
