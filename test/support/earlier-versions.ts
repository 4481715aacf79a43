// Earlier versions of this repository, out of its own history: those that a rolling deploy of today's
// schema meets. They run with today's packages.
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const run = promisify(execFile)

export interface EarlierVersion {
  readonly commit: string
  /** The first migration that it lacks. */
  readonly lacks: string
}

/**
 * The last versions before the schema changed, the newest first. None where the history does not reach
 * so far back: in an archive, or a shallow clone.
 */
export async function findEarlierVersions(count: number): Promise<EarlierVersion[]> {
  const files = await readdir(join(ROOT, 'drizzle'))
  const migrations = files.filter((name) => name.endsWith('.sql')).toSorted()
  const versions: EarlierVersion[] = []
  for (const lacks of migrations.toReversed()) {
    const commit = await commitBefore(`drizzle/${lacks}`)
    if (commit === undefined) break
    // Migrations that came together.
    if (versions.at(-1)?.commit === commit) versions.pop()
    if (versions.length === count) break
    versions.push({ commit, lacks })
  }
  return versions
}

async function commitBefore(path: string): Promise<string | undefined> {
  const added = await git('log', '--diff-filter=A', '--format=%H', '-1', '--', path)
  if (added === undefined) return undefined
  // A migration that is not committed yet comes after what is.
  const commit = added === '' ? 'HEAD' : `${added}^`
  const before = await git('rev-parse', '--verify', '--quiet', `${commit}^{commit}`)
  if (before === undefined) return undefined
  const started = await git('cat-file', '-e', `${before}:workers/main.ts`)
  return started === undefined ? undefined : before
}

/** What git answers, or undefined when it refuses: there is no repository, or no such commit. */
async function git(...args: string[]): Promise<string | undefined> {
  try {
    const { stdout } = await run('git', ['-C', ROOT, ...args])
    return stdout.trim()
  } catch {
    return undefined
  }
}

/** Puts a version into a folder that is not there yet. Returns the folder. */
export async function unpackVersion({ commit }: EarlierVersion, folder: string): Promise<string> {
  await mkdir(folder)
  const archive = `${folder}.tar`
  const { stdout } = await run('git', ['-C', ROOT, 'archive', commit], {
    encoding: 'buffer',
    maxBuffer: 100_000_000,
  })
  await writeFile(archive, stdout)
  await run('tar', ['-xf', archive, '-C', folder])
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** The file that `npm run <name>` starts in a version: files move between versions, scripts do not. */
export async function scriptIn(
  root: string,
  name: 'api' | 'worker' | 'migrate' | 'tenants',
): Promise<string> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>
  }
  return scripts[name]?.split(' ').at(-1) ?? ''
}
