// The programs of the product in a few files each, with everything that they import: to load one takes less than
// half of what the thousand files take that it comes from, and most of what a killed process costs is its successor.
import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** Texts in place of those that files of the product have, by their paths in it. */
export type Changes = ReadonlyMap<string, string>

export interface ProgramsOptions {
  /** Where the product is. */
  readonly root: string
  /** The scripts, by the names of the programs that they become; or what stands by to run one. */
  readonly scripts: Readonly<Record<string, string>>
  readonly changes?: Changes | undefined
  /** Where the programs are written to. */
  readonly folder: string
}

/** Where esbuild finds what is in no file. */
const STANDING_BY = 'standing-by'
const STAND_BY = fileURLToPath(new URL('stand-by.ts', import.meta.url))

const IMPORTED = /^import\s(?!type\b)[^'"]*?from\s+'([^']+)'/gm

/** A package that cannot be followed into its files, by its main one. */
const FOLLOWED = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' }

/** For the packages that are no ES modules. */
const REQUIRE = `const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)`

/** The program that loads what the script imports, says that it stands by, and runs the script when it is told to. */
export function standingBy(script: string): string {
  return `${STANDING_BY}:${script}`
}

/**
 * Writes `<name>.mjs` for each script.
 *
 * @throws Error when a script, or what it imports, is no program.
 */
export async function buildPrograms(options: ProgramsOptions): Promise<void> {
  const { root, scripts, folder } = options
  await build({
    entryPoints: scripts,
    absWorkingDir: root,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // What is loaded only when it is needed stays by itself.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    banner: { js: REQUIRE },
    alias: FOLLOWED,
    logLevel: 'silent',
    plugins: [productAt(options)],
  })
}

export function programIn(folder: string, name: string): string {
  return join(folder, `${name}.mjs`)
}

function productAt({ root, changes }: ProgramsOptions): Plugin {
  const read = async (path: string) =>
    changes?.get(relative(root, path)) ?? (await readFile(path, 'utf8'))
  return {
    name: 'product',
    setup(builder) {
      builder.onResolve({ filter: new RegExp(`^${STANDING_BY}:`) }, ({ path }) => ({
        path: join(root, path.slice(STANDING_BY.length + 1)),
        namespace: STANDING_BY,
      }))
      builder.onLoad({ filter: /.*/, namespace: STANDING_BY }, async ({ path }) => ({
        contents: standBy(path, await read(path)),
        resolveDir: dirname(path),
        loader: 'ts',
      }))
      builder.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const text = await read(path)
        // What lies beside a file is looked for beside it, and not beside the program.
        const url = JSON.stringify(pathToFileURL(path).href)
        return { contents: text.replaceAll('import.meta.url', url), loader: 'ts' }
      })
    },
  }
}

function standBy(script: string, text: string): string {
  const imported = [...text.matchAll(IMPORTED)].map(([, name]) => name)
  return [
    ...imported.map((name) => `import '${name}'`),
    `import { standBy } from ${JSON.stringify(STAND_BY)}`,
    `standBy(() => import(${JSON.stringify(script)}))`,
  ].join('\n')
}
