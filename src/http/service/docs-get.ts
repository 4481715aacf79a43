// GET /docs, GET /docs/:page and the OpenAPI documents. The pages are rendered from the documents at
// the first request, without scripts, and their Content-Security-Policy allows only the style sheet.
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { OpenEndpoint } from '../endpoint.ts'
import { answerFile, makeFile, type StaticFile } from '../responses/static-file.ts'
import { renderPages, type OpenapiDocument } from './docs-page.ts'
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

const readPages = readOnce(async () => {
  const documents = [
    [INDEX, 'openapi.yaml'],
    ['operators', 'openapi-operators.yaml'],
  ] as const
  const pages = documents.map(async ([index, name]) =>
    renderPages(parse(await readText(name)) as OpenapiDocument, index),
  )
  return new Map((await Promise.all(pages)).flatMap((rendered) => [...rendered]))
})

/** Compressed when it is first asked for. */
const files = new Map<string, Promise<StaticFile>>()

async function readPage(name: string): Promise<StaticFile> {
  const page = name === 'style.css' ? STYLE : (await readPages()).get(name)
  if (page === undefined) throw new ProblemError('resource-not-found')
  const made = files.get(name) ?? makeFile(name === 'style.css' ? 'text/css' : 'text/html', page)
  files.set(name, made)
  return await made
}

export const getDocs: OpenEndpoint = async (_parts, request) =>
  answerFile(request, await readPage(INDEX), policy)

export const getDocsPage: OpenEndpoint = async (_parts, request) =>
  answerFile(request, await readPage(String(request.params['page'])), policy)
