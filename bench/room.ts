// Whether there is room for a large database, said before anything is made.
import { statfs } from 'node:fs/promises'
import { UsageError } from './options.ts'

/** PostgreSQL keeps that much of its log at the most. */
const LOG_BYTES = 1.5e9

/**
 * Says how much is needed of what is free, as in `about 4.00 GB in /var/tmp, of 40.00 GB that are free`.
 *
 * @throws UsageError when it is not enough.
 */
export async function ensureRoom(folder: string, databaseBytes: number): Promise<string> {
  const needed = databaseBytes + LOG_BYTES
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free < needed) {
    throw new UsageError(
      `${folder} needs room for about ${showBytes(needed)} and has ${showBytes(free)}; choose another --folder`,
    )
  }
  return `about ${showBytes(needed)} in ${folder}, of ${showBytes(free)} that are free`
}

export function showBytes(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(2)} GB`
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`
  return `${(bytes / 1e3).toFixed(1)} kB`
}
