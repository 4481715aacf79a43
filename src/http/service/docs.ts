// GET /openapi.yaml, /openapi-operators.yaml and /docs: the documents of the API, read once. GET / leads a
// person with a browser to them.
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { parse } from 'yaml'
import { open, type OpenEndpoint } from '../endpoint.ts'
import { unchanged, type Endpoints } from '../contracts/contract.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { answerFile, makeFile, type StaticFile } from '../responses/static-file.ts'
import { type OpenapiDocument, pagesOf, policy, STYLE } from './docs-page.ts'

export const html = ['text/html']

const documentAnswer = {
  description: 'The OpenAPI document.',
  texts: ['application/yaml'],
  headers: ['ETag'],
} as const

/** Reads at the first call and keeps the result; a failure is not kept. */
export function readOnce<Content>(read: () => Promise<Content>): () => Promise<Content> {
  let content: Promise<Content> | undefined
  return async () => {
    content ??= read()
    try {
      return await content
    } catch (error) {
      content = undefined
      throw error
    }
  }
}

/** They differ for clients that accept no HTML. */
export const VARY = { vary: 'accept' }

export const pageHeaders = {
  ...VARY,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

const readText = async (name: string) =>
  await readFile(new URL(`../../../${name}`, import.meta.url), 'utf8')

const serveDocument = (name: string): OpenEndpoint => {
  const read = readOnce(async () => await makeFile('application/yaml', await readText(name)))
  return async (_parts, request) => answerFile(request, await read(), policy)
}

export const getOpenapi = serveDocument('openapi.yaml')

const getOperatorsOpenapi = serveDocument('openapi-operators.yaml')

const INDEX = 'docs'

/** The pages of each document. It is parsed, which takes long, when a page of it may be asked for. */
const documents = [
  [INDEX, 'openapi.yaml'] as const,
  ['operators', 'openapi-operators.yaml'] as const,
].map(([index, name]) =>
  readOnce(async () => pagesOf(parse(await readText(name)) as OpenapiDocument, index)),
)

const files = new Map<string, StaticFile>()

/** @throws ProblemError when there is no such page. */
async function readPage(name: string): Promise<StaticFile> {
  const made = files.get(name) ?? (await makePage(name))
  if (made === undefined) throw new ProblemError('resource-not-found')
  // Another request may have made the page meanwhile: all clients share one buffer.
  const file = files.get(name) ?? made
  files.set(name, file)
  return file
}

async function makePage(name: string): Promise<StaticFile | undefined> {
  if (name === 'style.css') return await makeFile('text/css', STYLE)
  for (const read of documents) {
    const render = (await read()).get(name)
    if (render !== undefined) return await makeFile('text/html', render())
  }
  return undefined
}

const getDocs: OpenEndpoint = async (_parts, request) =>
  answerFile(request, await readPage(INDEX), policy)

export const getDocsPage: OpenEndpoint = async (_parts, request) =>
  answerFile(request, await readPage(String(request.params['page'])), policy)

export const docsEndpoints: Endpoints = {
  'GET /openapi.yaml': {
    serve: open(getOpenapi),
    operationId: 'getOpenapi',
    tag: 'Service',
    summary: 'Retrieve this document',
    answers: { 200: documentAnswer, 304: unchanged },
  },
  'GET /openapi-operators.yaml': {
    serve: open(getOperatorsOpenapi),
    operationId: 'getOperatorsOpenapi',
    tag: 'Operators',
    summary: 'Retrieve this document',
    answers: { 200: documentAnswer, 304: unchanged },
  },
  'GET /docs': {
    serve: open(getDocs),
    operationId: 'getDocs',
    tag: 'Service',
    summary: 'Browse this document',
    description: 'Returns an HTML page that lists the operations, with a link to the page of each.',
    answers: { 200: { description: 'The page.', texts: html, headers: ['ETag'] }, 304: unchanged },
  },
  'GET /docs/:page': {
    serve: open(getDocsPage),
    operationId: 'getDocsPage',
    tag: 'Service',
    summary: 'Browse one operation',
    description: 'Returns the page of an operation, or the style sheet of the pages.',
    path: z.object({
      page: z.string().meta({
        description: 'The `operationId` of the operation; `operators` for the list of theirs.',
        examples: ['createPayment'],
      }),
    }),
    answers: {
      200: { description: 'The page.', texts: ['text/css', ...html], headers: ['ETag'] },
      304: unchanged,
    },
  },
}

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
