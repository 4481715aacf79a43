// Jest runs this once, before the first test file.
import { prepareTestPrograms } from './programs.ts'
import { startPostgresCluster } from './postgres-cluster.ts'

export default async function setUp(): Promise<void> {
  await Promise.all([startPostgresCluster(), prepareTestPrograms()])
}
