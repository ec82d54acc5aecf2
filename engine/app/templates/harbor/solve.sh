#!/bin/sh
# Submits the sample submission. It shows that the task can be graded, and is not a solution.
mkdir -p /home/submission
cp /home/data/{sample} /home/submission/submission.csv
