// GET /console and its files: the page, its modules and the packages that they import.
import { consoleOnly, type OpenEndpoint, type ServiceParts } from '../endpoint.ts'
import { z } from 'zod'
import { unchanged, type Endpoints } from '../contracts/contract.ts'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFile, type StaticFile, answerFile } from '../responses/static-file.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { readOnce } from '../service/docs.ts'
import type { Request } from 'express'
import { authenticateSession } from './authenticate-session.ts'

const fileInPath = (example: string) =>
  z.object({ file: z.string().meta({ description: 'The name of the file.', examples: [example] }) })

export type ConsoleFiles = ReadonlyMap<string, StaticFile>

const FOLDER = fileURLToPath(new URL('../../../console/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

const packages = createRequire(import.meta.url)

/**
 * The files of packages by the names under which they are served. Each is found from the entry of its
 * package, because a package need not export its other files.
 */
const PACKAGE_FILES = {
  'preact.js': { entry: 'preact', file: 'preact.mjs' },
  'preact-hooks.js': { entry: 'preact/hooks', file: 'hooks.mjs' },
  'htm.js': { entry: 'htm', file: 'htm.module.js' },
  'uplot.js': { entry: 'uplot', file: 'uPlot.esm.js' },
  'uplot.css': { entry: 'uplot', file: 'uPlot.min.css' },
} as const

/** What scripts import by the names of packages, and where a browser finds it. */
const PATHS = new Map<string, string>(
  Object.entries(PACKAGE_FILES)
    .filter(([name]) => name.endsWith('.js'))
    .map(([name, { entry }]) => [entry, `/console/packages/${name}`]),
)

/** Lists the folder once. Only files in the list are served, so a path cannot leave the folder. */
export async function readConsoleFolder(folder = FOLDER): Promise<ConsoleFiles> {
  const names = (await readdir(folder)).filter((name) => Object.hasOwn(TYPES, extname(name)))
  return await readFiles(names.map((name) => [name, join(folder, name)]))
}

export async function readConsolePackages(): Promise<ConsoleFiles> {
  const places = Object.entries(PACKAGE_FILES).map(
    ([name, { entry, file }]) => [name, join(dirname(packages.resolve(entry)), file)] as const,
  )
  return await readFiles(places)
}

async function readFiles(places: readonly (readonly [string, string])[]): Promise<ConsoleFiles> {
  const files = places.map(async ([name, path]) => {
    const type = TYPES[extname(name)] ?? ''
    const text = await readFile(path, 'utf8')
    return [name, await makeFile(type, type === TYPES['.js'] ? withPaths(text) : text)] as const
  })
  return new Map(await Promise.all(files))
}

const IMPORTED = /(?<=\b(?:from|import)\s*\(?\s*)(["'])([a-z/]+)\1/g

/**
 * Replaces the names of packages in imports by paths. The browser could do it with an import map,
 * which is an inline script, and the Content-Security-Policy forbids those. Also removes the
 * references to source maps, which are not served.
 */
function withPaths(script: string): string {
  return script
    .replaceAll(IMPORTED, (_, quote: string, name: string) => {
      return `${quote}${PATHS.get(name) ?? name}${quote}`
    })
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, '')
}

/** Everything comes from this host. No script and no style is in the page itself. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const pagePolicy = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
}

const getConsoleFile = serve(readOnce(readConsoleFolder))

const getConsolePackage = serve(readOnce(readConsolePackages))

function serve(read: () => Promise<ConsoleFiles>): OpenEndpoint {
  return async (_parts, request) => {
    const file = (await read()).get(String(request.params['file']))
    if (file === undefined) throw new ProblemError('resource-not-found')
    return answerFile(request, file, pagePolicy)
  }
}

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

const getConsole: OpenEndpoint = async (parts, request) => ({
  status: 200,
  headers: { ...pagePolicy, 'content-type': 'text/html; charset=utf-8' },
  body: pageWith((await hasSession(parts, request)) ? 'open' : 'none'),
})

/** Without a database the page opens, too, and says then what is wrong. */
async function hasSession(parts: ServiceParts, request: Request): Promise<boolean> {
  try {
    await authenticateSession(parts, request)
    return true
  } catch (error) {
    return !(error instanceof ProblemError && error.type === 'session-ended')
  }
}

export const pageEndpoints: Endpoints = {
  'GET /console': {
    serve: consoleOnly(getConsole),
    operationId: 'getConsole',
    tag: 'Console',
    summary: 'Open the console',
    description: 'Returns the HTML page of the console.',
    answers: { 200: { description: 'The page.', texts: ['text/html'] } },
  },
  'GET /console/app/:file': {
    serve: consoleOnly(getConsoleFile),
    operationId: 'getConsoleFile',
    tag: 'Console',
    summary: 'Retrieve a file of the console',
    path: fileInPath('main.js'),
    answers: {
      200: {
        description: 'The file.',
        texts: ['text/css', 'text/javascript', 'image/svg+xml'],
        headers: ['ETag'],
      },
      304: unchanged,
    },
  },
  'GET /console/packages/:file': {
    serve: consoleOnly(getConsolePackage),
    operationId: 'getConsolePackage',
    tag: 'Console',
    summary: 'Retrieve a package of the console',
    path: fileInPath('preact.js'),
    answers: {
      200: {
        description: 'The file.',
        texts: ['text/css', 'text/javascript'],
        headers: ['ETag'],
      },
      304: unchanged,
    },
  },
}
