import './in-parts.ts'
import '../../../operations/every-operation.test.ts'
