// The folder of a run that keeps nothing: a PostgreSQL of its own is in it, and all of it goes with the run.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Makes an empty folder that everybody may enter: root's server runs as the user `postgres`.
 *
 * @param purpose a word of its name, for whoever finds one that was left.
 */
export async function makeThrowawayFolder(purpose: string, parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, `atomic-payments-${purpose}-`))
  await chmod(folder, 0o755)
  return folder
}

/** Removes the folder, and the database that was kept in its `postgres`. Without one nothing is missing. */
export async function removeThrowawayFolder(folder: string): Promise<void> {
  await removeDatabase(join(folder, 'postgres'))
  await rm(folder, { recursive: true, force: true })
}

/** Removes what a server has kept in the directory, which may be a link to a place that it can reach. */
export async function removeDatabase(directory: string): Promise<void> {
  const place = await realpath(directory).catch(() => directory)
  await rm(place, { recursive: true, force: true })
}
