// Reads the scripts and styles of the console: our own from the folder console/, and those of
// packages from node_modules. There is no build step: a browser runs them as they are.
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFile, type StaticFile } from '../responses/static-file.ts'

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
const PATHS: Readonly<Record<string, string>> = {
  preact: '/console/packages/preact.js',
  'preact/hooks': '/console/packages/preact-hooks.js',
  htm: '/console/packages/htm.js',
  uplot: '/console/packages/uplot.js',
}

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
    .replaceAll(IMPORTED, (found, quote: string, name: string) =>
      Object.hasOwn(PATHS, name) ? `${quote}${PATHS[name] ?? ''}${quote}` : found,
    )
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, '')
}
