// GET /docs, GET /docs/:page and the OpenAPI documents. A page is rendered from its document when it is
// first asked for, without scripts, and its Content-Security-Policy allows only the style sheet.
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { OpenEndpoint } from '../endpoint.ts'
import { answerFile, makeFile, type StaticFile } from '../responses/static-file.ts'
import { pagesOf, type OpenapiDocument } from './docs-page.ts'
import { readOnce } from './read-once.ts'

const policy = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
}

const STYLE = `:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4150); --quiet: light-dark(#f4f5f7, #1d222c) }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #12151b); color: light-dark(#1b2330, #dfe3ea) }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem }
a { color: light-dark(#0b57c2, #8ab8ff) }
code, pre { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere }
code { background: var(--quiet); padding: 0.1em 0.3em; border-radius: 4px }
code.request { font-size: 1.2em }
pre { background: var(--quiet); padding: 1rem; overflow: auto; border-radius: 6px }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1rem }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line) }
summary { cursor: pointer }
li { margin: 0.2rem 0 }
`

const readText = async (name: string) =>
  await readFile(new URL(`../../../${name}`, import.meta.url), 'utf8')

const serveDocument = (name: string): OpenEndpoint => {
  const read = readOnce(async () => await makeFile('application/yaml', await readText(name)))
  return async (_parts, request) => answerFile(request, await read(), policy)
}

export const getOpenapi = serveDocument('openapi.yaml')

export const getOperatorsOpenapi = serveDocument('openapi-operators.yaml')

const INDEX = 'docs'

/** The pages of each document. It is parsed, which takes long, when a page of it may be asked for. */
const documents = [
  [INDEX, 'openapi.yaml'] as const,
  ['operators', 'openapi-operators.yaml'] as const,
].map(([index, name]) =>
  readOnce(async () => pagesOf(parse(await readText(name)) as OpenapiDocument, index)),
)

const files = new Map<string, Promise<StaticFile>>()

async function readPage(name: string): Promise<StaticFile> {
  const file = files.get(name) ?? makePage(name)
  files.set(name, file)
  try {
    return await file
  } catch (error) {
    files.delete(name)
    throw error
  }
}

/** @throws ProblemError when there is no such page. */
async function makePage(name: string): Promise<StaticFile> {
  if (name === 'style.css') return await makeFile('text/css', STYLE)
  for (const read of documents) {
    const render = (await read()).get(name)
    if (render !== undefined) return await makeFile('text/html', render())
  }
  throw new ProblemError('resource-not-found')
}

export const getDocs: OpenEndpoint = async (_parts, request) =>
  answerFile(request, await readPage(INDEX), policy)

export const getDocsPage: OpenEndpoint = async (_parts, request) =>
  answerFile(request, await readPage(String(request.params['page'])), policy)
