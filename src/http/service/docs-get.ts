// GET /docs, GET /docs/:file and GET /openapi.yaml: the document of the API, and the page that shows it.
// Everything that the page needs is served here, from a package; its policy lets nothing else in.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Answer } from '../responses/answer.ts'
import type { OpenEndpoint } from '../endpoint.ts'

const packages = createRequire(import.meta.url)

/** Inline styles are not among it: what the page sets by script is none. */
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

// Without a validator's URL the page would send the document's address to one on the internet.
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

const ofPackage = (type: string, name: string): ServedFile => ({
  type,
  read: keepRead(() => readFile(packages.resolve(`swagger-ui-dist/${name}`))),
})

const files: ReadonlyMap<string, ServedFile> = new Map([
  ['start.js', { type: 'text/javascript', read: () => Promise.resolve(START) }],
  ['swagger-ui.css', ofPackage('text/css', 'swagger-ui.css')],
  ['swagger-ui-bundle.js', ofPackage('text/javascript', 'swagger-ui-bundle.js')],
])

const readDocument = keepRead(() => readFile(new URL('../../../openapi.yaml', import.meta.url)))

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
    'x-content-type-options': 'nosniff',
  }
  return { status: 200, headers, body }
}

/** Reads at the first request, once; a failure is not kept. */
function keepRead(read: () => Promise<Buffer>): () => Promise<Buffer> {
  let kept: Promise<Buffer> | undefined
  return async () => {
    kept ??= read()
    try {
      return await kept
    } catch (error) {
      kept = undefined
      throw error
    }
  }
}
