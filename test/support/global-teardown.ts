// Jest runs this once, after the last test file.
export { stopPostgresCluster as default } from './postgres-cluster.ts'
