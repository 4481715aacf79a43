// GET /docs, GET /docs/:file and GET /openapi.yaml: return the OpenAPI document and a page that
// shows it. All files of the page are served from here, and its Content-Security-Policy forbids any
// other source.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Answer } from '../responses/answer.ts'
import type { OpenEndpoint } from '../endpoint.ts'
import { readOnce } from './read-once.ts'

const packages = createRequire(import.meta.url)

/** Needs no 'unsafe-inline' for styles: styles that a script sets do not count as inline. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Atomic Payments API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`

// By default the page sends the address of the document to a validator on the internet.
const START = `SwaggerUIBundle({
  url: '/openapi.yaml',
  dom_id: '#swagger-ui',
  validatorUrl: null,
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
})
`

interface ServedFile {
  readonly type: string
  readonly read: () => Promise<string | Buffer>
}

const packageFile = (type: string, name: string): ServedFile => ({
  type,
  read: readOnce(() => readFile(packages.resolve(`swagger-ui-dist/${name}`))),
})

const files: ReadonlyMap<string, ServedFile> = new Map([
  ['start.js', { type: 'text/javascript', read: () => Promise.resolve(START) }],
  ['swagger-ui.css', packageFile('text/css', 'swagger-ui.css')],
  ['swagger-ui-bundle.js', packageFile('text/javascript', 'swagger-ui-bundle.js')],
])

const readDocument = readOnce(() => readFile(new URL('../../../openapi.yaml', import.meta.url)))

export const getDocs: OpenEndpoint = () => Promise.resolve(text('text/html', PAGE))

export const getDocsFile: OpenEndpoint = async (_parts, request) => {
  const file = files.get(String(request.params['file']))
  if (file === undefined) throw new ProblemError('resource-not-found')
  return text(file.type, await file.read())
}

export const getOpenapi: OpenEndpoint = async () => text('application/yaml', await readDocument())

function text(type: string, body: string | Buffer): Answer {
  const headers = {
    'content-type': `${type}; charset=utf-8`,
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cross-origin-opener-policy': 'same-origin',
  }
  return { status: 200, headers, body }
}
