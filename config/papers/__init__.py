"""What is printed from a cutting job: connects the cutting queue and the PDF queue, which do not import each other."""
