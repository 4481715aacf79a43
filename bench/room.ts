// Checks before a run that the disk has room for a large database.
import { statfs } from 'node:fs/promises'
import { UsageError } from './options.ts'

/** The most that PostgreSQL keeps of its write-ahead log. */
const LOG_BYTES = 1.5e9

/**
 * Returns the needed and the free space as text: `about 4.00 GB in /var/tmp, of 40.00 GB free`.
 *
 * @throws UsageError when there is not enough space.
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
  return `about ${showBytes(needed)} in ${folder}, of ${showBytes(free)} free`
}

function showBytes(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(2)} GB`
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`
  return `${(bytes / 1e3).toFixed(1)} kB`
}
